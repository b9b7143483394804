import fc from 'fast-check';
import {
  type Facet,
  type Filter,
  type GroupCount,
  type GroupOrder,
  type GroupSearch,
  type Order,
  type Search,
  type ValuesSearch,
  type Word,
} from '../../../src/kernel/query';
import { type Document } from '../../../src/kernel/read-store';
import { FEEDS } from './documents';

/** Queries made of what the documents have, and of a little that they do not have. */
export interface Queries {
  readonly filter: fc.Arbitrary<Filter>;
  readonly search: fc.Arbitrary<Search>;
  readonly groupSearch: fc.Arbitrary<GroupSearch>;
  readonly groupCount: fc.Arbitrary<GroupCount>;
  readonly values: fc.Arbitrary<ValuesSearch>;
}

export function queriesFor(documents: readonly Document[]): Queries {
  const someOf = <T>(list: readonly T[], most: number) =>
    fc.array(fc.constantFrom(...list), { maxLength: most });
  const valuesOf = (field: string) => {
    const values = documents.flatMap<string | number>(({ fields }) => fields[field] ?? []);
    return [...new Set(values)].slice(0, 300);
  };
  const words = [...new Set([...valuesOf('title'), ...valuesOf('description')])].map(String);
  const groups = new Set(documents.map(({ fields }) => fields['groupId'])).size;
  const numbers = fc.constantFrom('price', 'modified', 'stock');
  const token = fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...words) }, fc.constant('nowhere'));
  const spelling = fc.array(token, { minLength: 1, maxLength: 3 });
  const word: fc.Arbitrary<Word> = fc.oneof(
    { weight: 3, arbitrary: token },
    fc.array(spelling, { minLength: 1, maxLength: 2 }),
    fc.record({
      prefixes: fc.array(
        fc
          .tuple(fc.constantFrom(...words), fc.nat(4))
          .map(([text, length]) => Array.from(text).slice(0, length).join('')),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  );

  const among: fc.Arbitrary<Filter> = fc
    .constantFrom('price', 'stock', 'groupId', 'brand', 'tags')
    .chain((field) =>
      fc.record({ field: fc.constant(field), in: someOf([...valuesOf(field), 'none', 9], 5) }),
    );
  const feeds = fc.record({ field: fc.constant('feedId'), in: someOf([...FEEDS, 5, 'none'], 4) });
  const within: fc.Arbitrary<Filter> = numbers.chain((field) => {
    const bound = fc.constantFrom(...(valuesOf(field) as number[]));
    return fc.record({ field: fc.constant(field), min: bound, max: bound }, { requiredKeys: ['field'] });
  });
  const having = fc.record({
    words: fc.array(word, { maxLength: 3 }),
    within: fc.constantFrom(['title'], ['description'], ['title', 'description']),
  });
  const { filter: nested } = fc.letrec<{ filter: Filter }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 3 },
      having,
      among,
      within,
      feeds,
      fc.record({ all: fc.array(tie('filter'), { maxLength: 3 }) }),
      fc.record({ any: fc.array(tie('filter'), { maxLength: 3 }) }),
    ),
  }));
  const filter: fc.Arbitrary<Filter> = fc.oneof(
    nested,
    fc.tuple(feeds, nested).map((all) => ({ all })),
    fc.tuple(feeds, within).map((all) => ({ all })),
    fc.tuple(feeds, having).map((all) => ({ all })),
    feeds,
  );
  const order: fc.Arbitrary<Order> = fc.oneof(
    fc.record({ field: fc.oneof(numbers, fc.constant('label')), descending: fc.boolean() }),
    fc.record({
      matches: fc.array(word, { maxLength: 3 }),
      within: fc.constantFrom('title', 'description'),
      descending: fc.constant(true as const),
    }),
    fc.record({ shuffled: numbers, seed: fc.maxSafeInteger() }),
  );
  const page = { offset: fc.constantFrom(0, 0, 1, 10, 1000), size: fc.constantFrom(0, 1, 7, 100, 9_000) };
  const groupOrder = fc
    .tuple(fc.constantFrom('least' as const, 'greatest' as const), order)
    .map(([by, key]): GroupOrder => ({ by, ...key }));
  /** A word with one letter wrong, or a little more; some documents have no word that is long enough. */
  const long = words.filter((word) => Array.from(word).length >= 4);
  const misspelt = fc
    .tuple(
      fc.constantFrom('unknown', ...long),
      fc.array(
        fc.tuple(
          fc.constantFrom('cut', 'add', 'swap', 'put'),
          fc.nat(6),
          fc.constantFrom('s', 'n', 'é', '𝒳'),
        ),
        {
          maxLength: 2,
        },
      ),
    )
    .map(([word, changes]) => {
      const letters = Array.from(word);
      for (const [change, at, letter] of changes) {
        if (change === 'swap') letters.splice(at, 2, ...letters.slice(at, at + 2).reverse());
        else letters.splice(at, change === 'add' ? 0 : 1, ...(change === 'cut' ? [] : [letter]));
      }
      return letters.join('');
    })
    .filter((word) => Array.from(word).length >= 4);
  const facet: fc.Arbitrary<Facet> = fc.oneof(
    fc.record({
      near: misspelt,
      within: fc.constantFrom(['title'], ['title', 'description']),
      size: fc.constantFrom(1, 10),
    }),
    fc.record({
      field: fc.constantFrom('feedId', 'stock', 'brand', 'tags'),
      size: fc.constantFrom(1, 3, 20),
    }),
    fc.constantFrom('brand', 'tags').chain((field) =>
      fc.record({
        field: fc.constant(field),
        size: fc.constantFrom(1, 20),
        prefix: fc
          .tuple(fc.constantFrom(...valuesOf(field)), fc.constantFrom(0, 1, 2, 70))
          .map(([value, length]) => Array.from(String(value)).slice(0, length).join('')),
      }),
    ),
    numbers.chain((field) =>
      fc.record({
        field: fc.constant(field),
        bounds: fc
          .uniqueArray(
            fc.oneof(fc.integer({ min: -5, max: 15 }), fc.constantFrom(...(valuesOf(field) as number[]))),
            {
              minLength: 1,
              maxLength: 20,
            },
          )
          .map((bounds) => bounds.sort((a, b) => a - b)),
      }),
    ),
  );
  return {
    filter,
    values: fc.record({ filter, facets: fc.array(facet, { maxLength: 4 }) }),
    search: fc.record({ filter, order: fc.array(order, { maxLength: 2 }), ...page }),
    groupSearch: fc.record({
      filter,
      groupBy: fc.constant('groupId'),
      within: fc.array(order, { maxLength: 2 }),
      order: fc.array(groupOrder, { maxLength: 2 }),
      ...page,
      members: fc.constantFrom(1, 2, 1000),
    }),
    groupCount: fc.record({
      filter,
      groupBy: fc.constant('groupId'),
      size: fc.constantFrom(Math.ceil(groups / 3), groups, 10_000),
    }),
  };
}
