import fc from 'fast-check';
import {
  EVERYTHING,
  type Filter,
  type GroupCount,
  type GroupCounts,
  type Search,
} from '../../../src/kernel/query';
import { type Document, type ReadStore, type Target } from '../../../src/kernel/read-store';
import { oracleOf } from '../../support/oracle';
import { type Subject, live, put } from './subject';
import { generatedDocuments, LOOSE, OFFERS, realDocuments } from './documents';
import { queriesFor } from './queries';

/** All groups, answer by answer. */
export async function countedGroups(
  store: ReadStore,
  target: Target,
  wanted: GroupCount,
): Promise<GroupCounts['groups']> {
  const { groups, next } = await store.countGroups(target, wanted);
  expect(groups.length).toBeLessThanOrEqual(wanted.size);
  if (next === undefined) return groups;
  return [...groups, ...(await countedGroups(store, target, { ...wanted, after: next }))];
}

const DAY = 86_400_000;

/** At the ends of days, weeks, months and years, and anywhere. */
const instant = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('1969-12-29', '1970-01-01', '2000-02-29', '2024-03-01', '2026-01-01', '2026-02-02'),
      fc.integer({ min: -1, max: 1 }),
    )
    .map(([date, ms]) => Date.parse(date) + ms),
  fc.integer({ min: Date.parse('1950-01-01'), max: Date.parse('2100-01-01') }),
);

function firstDay(time: number, every: 'day' | 'month' | 'week'): string {
  const date = new Date(time).toISOString().slice(0, 10);
  if (every === 'day') return date;
  if (every === 'month') return `${date.slice(0, 8)}01`;
  let day = Date.parse(date);
  while (new Date(day).getUTCDay() !== 1) day -= DAY;
  return new Date(day).toISOString().slice(0, 10);
}

export function searching(subject: Subject): void {
  const real = realDocuments();
  const collections = [
    { of: 'generated documents', spec: OFFERS, documents: generatedDocuments() },
    { of: 'generated documents without a partition', spec: LOOSE, documents: generatedDocuments() },
    ...(real === undefined ? [] : [{ of: 'the real products', spec: OFFERS, documents: real }]),
  ];
  if (real === undefined) it('(real products are missing: skips searches over them)', () => undefined);

  describe('totals by periods of time (UTC, weeks begin on Monday)', () => {
    afterEach(subject.close);

    it('as the calendar says', () =>
      fc.assert(
        fc.asyncProperty(fc.array(instant, { minLength: 1, maxLength: 40 }), async (times) => {
          const store = await subject.open();
          const target = { collection: LOOSE.name };
          await live(store, LOOSE);
          const documents = times.map((modified, index) => ({
            id: String(index),
            fields: { feedId: 1, groupId: `g${index % 2}`, price: index, modified },
            body: '{}',
          }));
          await put(store, target, [
            ...documents,
            { id: 'none', fields: { feedId: 1, groupId: 'g0' }, body: '{}' },
          ]);
          for (const every of ['day', 'week', 'month'] as const) {
            const by = ['groupId', { field: 'modified', every }] as const;
            const found = await store.totals(target, { filter: EVERYTHING, by, sums: ['price'] });
            const expected = new Map<string, { count: number; sum: number }>();
            for (const { fields } of documents) {
              const key = `${fields.groupId} ${firstDay(fields.modified, every)}`;
              const { count, sum } = expected.get(key) ?? { count: 0, sum: 0 };
              expected.set(key, { count: count + 1, sum: sum + fields.price });
            }
            expect(found).toEqual(
              [...expected]
                .sort()
                .map(([key, { count, sum }]) => ({ values: key.split(' '), count, sums: [sum] })),
            );
          }
          await subject.close();
        }),
        { numRuns: 10 },
      ));
  });

  describe.each(collections)('over $of', ({ spec, documents }) => {
    let store: ReadStore;
    const target = { collection: spec.name };
    const oracle = oracleOf(documents);
    const queries = queriesFor(documents);
    const runs = { numRuns: 100 };

    beforeAll(async () => {
      store = await subject.open();
      await live(store, spec);
      await put(store, target, documents);
    });
    afterAll(subject.close);

    const searched = async (search: Search) => {
      const { total, found } = await store.search(target, search);
      return { total, ids: found.map(({ id }) => id) };
    };

    it('finds, orders and pages', () =>
      fc.assert(
        fc.asyncProperty(queries.search, async (search) => {
          expect(await searched(search)).toEqual(oracle.search(search));
        }),
        runs,
      ));

    it('groups, orders the groups and their members, and pages', () =>
      fc.assert(
        fc.asyncProperty(queries.groupSearch, async (search) => {
          const { total, groups } = await store.searchGroups(target, search);
          expect({ total, ids: groups.map((group) => group.map(({ id }) => id)) }).toEqual(
            oracle.searchGroups(search),
          );
        }),
        runs,
      ));

    it('counts', () =>
      fc.assert(
        fc.asyncProperty(queries.filter, async (filter) => {
          expect(await store.count(target, filter)).toBe(oracle.count(filter));
        }),
        runs,
      ));

    it('counts each group once, page by page, each with one of its documents', () =>
      fc.assert(
        fc.asyncProperty(queries.groupCount, async (wanted) => {
          const groups = await countedGroups(store, target, wanted);
          const valueOf = new Map(documents.map(({ id, fields }) => [id, fields[wanted.groupBy]]));
          const counted = groups.map(({ one, count }) => [valueOf.get(one.id), count] as const);
          expect(new Map(counted)).toEqual(oracle.countGroups(wanted.groupBy, wanted.filter));
          expect(counted).toHaveLength(new Map(counted).size);
          const matching = new Set(oracle.scan(wanted.filter));
          expect(groups.filter(({ one }) => !matching.has(one.id))).toEqual([]);
        }),
        { numRuns: 50 },
      ));

    it('counts the values of fields', () =>
      fc.assert(
        fc.asyncProperty(queries.values, async (values) => {
          expect(await store.countValues(target, values)).toEqual(oracle.countValues(values));
        }),
        runs,
      ));

    it.each(['price', 'title', 'groupId', 'none'])('refuses to count the values of %s', async (field) => {
      const values = store.countValues(target, { filter: EVERYTHING, facets: [{ field, size: 3 }] });
      await expect(values).rejects.toMatchObject({ name: 'UndeclaredField' });
    });

    it('totals by the values of a field', () =>
      fc.assert(
        fc.asyncProperty(queries.groupCount, async ({ filter }) => {
          const sums = ['price', 'stock'];
          const found = await store.totals(target, { filter, by: ['groupId'], sums });
          expect(found).toEqual(oracle.totals('groupId', sums, filter));
        }),
        { numRuns: 30 },
      ));

    it('totals by several fields, and without sums', async () => {
      const twice = await store.totals(target, { filter: EVERYTHING, by: ['groupId', 'groupId'], sums: [] });
      const once = oracle.totals('groupId', [], EVERYTHING);
      expect(twice).toEqual(once.map(({ values, ...one }) => ({ ...one, values: [...values, ...values] })));
    });

    it('totals until there are more than wanted', async () => {
      const wanted = { filter: EVERYTHING, by: ['groupId'], sums: [] } as const;
      const all = await store.totals(target, wanted);
      expect(await store.totals(target, { ...wanted, most: all.length })).toEqual(all);
      expect((await store.totals(target, { ...wanted, most: all.length - 1 })).length).toBe(all.length);
    });

    it('scans by id ascending', () =>
      fc.assert(
        fc.asyncProperty(queries.filter, async (filter) => {
          const ids: string[] = [];
          for await (const batch of store.scan(target, filter)) ids.push(...batch.map(({ id }) => id));
          expect(ids).toEqual(oracle.scan(filter));
        }),
        { numRuns: 50 },
      ));

    it('answers with the bodies and versions that were written', async () => {
      const { found } = await store.search(target, {
        filter: EVERYTHING,
        order: [],
        offset: 0,
        size: 10_000,
      });
      const bodies = new Map(documents.map(({ id, body }) => [id, body]));
      expect(found).toHaveLength(documents.length);
      for (const { id, body, version } of found) {
        expect(body).toBe(bodies.get(id));
        expect(version).toBe('0000000000000000001');
      }
    });

    it.each<[string, Filter]>([
      ['an empty list of values', { field: 'brand', in: [] }],
      ['an empty list of numbers', { field: 'price', in: [] }],
      ['no alternatives', { any: [] }],
      ['a missing partition', { field: 'feedId', in: [12_345] }],
      ['a number in a keyword field', { field: 'brand', in: [1] }],
    ])('finds nothing by %s', async (_, filter) => {
      expect(await searched({ filter, order: [], offset: 0, size: 10 })).toEqual({ total: 0, ids: [] });
      expect(await store.count(target, filter)).toBe(0);
    });

    it.each<[string, Filter]>([
      ['no conditions', EVERYTHING],
      ['no words', { words: [], within: ['title'] }],
      ['an alternative without conditions', { any: [EVERYTHING, { field: 'brand', in: [] }] }],
    ])('finds everything by %s', async (_, filter) => {
      expect(await store.count(target, filter)).toBe(documents.length);
    });

    it('finds a word of several tokens where one field has all of them, and counts it once (decisions P4, P7)', async () => {
      const wordsOf = ({ fields }: Document, field: string) => (fields[field] ?? []) as readonly string[];
      const [[one, other]] = documents.flatMap((document) => {
        const [title, description] = [wordsOf(document, 'title'), wordsOf(document, 'description')];
        const own = title.find((word) => !description.includes(word));
        const others = description.find((word) => !title.includes(word));
        return own === undefined || others === undefined ? [] : [[own, others] as const];
      }) as [readonly [string, string]];
      const word = [[one, other], ['nowhere']];
      const within = ['title', 'description'];
      for (const filter of [
        { words: [word], within },
        { words: [[[one], [other]]], within },
        { words: [word, one], within: ['title'] },
      ]) {
        const order = [{ matches: [word, word, one], within: 'title', descending: true }] as const;
        const search: Search = { filter, order, offset: 0, size: 100 };
        expect(await searched(search)).toEqual(oracle.search(search));
      }
      const apart = {
        all: [
          { words: [one], within },
          { words: [other], within },
        ],
      };
      expect(await store.count(target, { words: [word], within })).toBeLessThan(oracle.count(apart));
    });

    it('accepts a thousand alternatives and a thousand words', async () => {
      const some: Filter[] = documents.slice(0, 1_000).map(({ fields }, n) => ({
        all: [
          { field: 'feedId', in: [fields['feedId'] as number] },
          n % 2 === 0
            ? { field: 'price', min: n, max: n }
            : { field: 'groupId', in: [fields['groupId'] as string] },
        ],
      }));
      const alternatives = Array.from({ length: 1_000 }, (_, n) => some[n % some.length]!);
      const matches = Array.from({ length: 1_000 }, (_, n) => (n === 500 ? 'red' : `word${n}`));
      const search: Search = {
        filter: { any: alternatives },
        order: [{ matches, within: 'title', descending: true }],
        offset: 0,
        size: 50,
      };
      expect(await searched(search)).toEqual(oracle.search(search));
    });

    it.each(['brand', 'tags', 'stock'])('accepts thousands of values of %s', async (field) => {
      const some = documents.slice(0, 50).flatMap<string | number>(({ fields }) => fields[field] ?? []);
      const others = Array.from({ length: 3_000 }, (_, n) => (field === 'stock' ? 1000 + n : `v${n}`));
      const search = { filter: { field, in: [...some, ...others] }, order: [], offset: 0, size: 20 };
      const least = { ...search, filter: { field, in: some } };
      expect(await searched(search)).toEqual(oracle.search(least));
      expect(await store.count(target, search.filter)).toBe(oracle.count(least.filter));
    });
  });
}
