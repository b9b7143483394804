import { isDeepStrictEqual } from 'node:util';
import {
  type IndexFacet,
  type IndexFilter,
  type IndexOrder,
  type IndexQuery,
} from '../../../src/engines/embedded/search/query';
import { type Merge, type SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { type Schema } from '../../../src/engines/embedded/search/segment';
import { indexed, naive, naiveFacets, type Placed, type SomeDocument } from './naive';
import { type randomOf } from './random';

export const SCHEMA: Schema = {
  columns: ['price', 'modified', 'stock', 'group', 'brand'],
  defaultOrder: { column: 'modified', descending: true },
  orders: ['price'],
  groups: ['group'],
};

export type Random = ReturnType<typeof randomOf>;

/** Ids with characters whose order in UTF-8 is not that in UTF-16. */
export function idOf(number: number): string {
  return `${['', 'ä', '\u{1f600}', '\uff5e'][number % 4]}${number}`;
}

export function someDocument(random: Random, row: number): SomeDocument {
  const id = idOf(row);
  const tokens = [`i${row}`];
  for (const [at, oneIn] of [1, 2, 3, 10, 30, 100].entries()) if (random(oneIn) === 0) tokens.push(`w${at}`);
  for (let at = 0; at < 3; at += 1) tokens.push(`t${Math.floor(random(100) ** 2 / 100)}`);
  // A field with one value, as a rule.
  if (random(8) > 0) tokens.push(`b${random(300)}`);
  if (random(10) === 0) tokens.push(`b${random(300)}`);
  if (random(12) === 0) tokens.push('b1\u0001');
  if (random(20) === 0) tokens.push(`シューズ${random(3)}`, `\u{1f600}${random(5)}`, `\uff5e${random(5)}`);
  return {
    id,
    row,
    tokens: tokens.join('\n'),
    numbers: {
      ...(random(50) === 0 ? {} : { price: random(4) === 0 ? 999 : random(5_000) }),
      ...(random(80) === 0
        ? {}
        : { modified: 1_700_000_000_000 + random(40) * 86_400_000 * (random(3) + 1) }),
      ...(random(2) === 0 ? {} : { stock: random(20) - 5 }),
      ...(random(3) === 0 ? {} : { group: random(20) === 0 ? -1 : random(200) }),
      brand: random(7),
    },
  };
}

export function someFilter(random: Random, depth = 0): IndexFilter {
  const kind = random(depth > 1 ? 6 : 10);
  if (kind < 3) return { token: random(3) === 0 ? `t${random(100)}` : `w${random(6)}` };
  if (kind === 3) {
    const min = random(5_000);
    return random(4) === 0
      ? { column: 'price', min: 999, max: 999 }
      : {
          column: 'price',
          ...(random(3) === 0 ? {} : { min }),
          ...(random(3) === 0 ? {} : { max: min + random(3_000) }),
        };
  }
  if (kind === 4) {
    const min = 1_700_000_000_000 + random(60) * 86_400_000;
    return random(2) === 0
      ? { column: 'modified', min, max: min + random(40) * 86_400_000 }
      : { column: 'stock', ...(random(2) === 0 ? { min: random(10) } : { max: random(10) }) };
  }
  if (kind === 5)
    return random(2) === 0 ? { prefix: ['シュ', '\u{1f600}', 't9', 'w'][random(4)]! } : { all: [] };
  const parts = Array.from({ length: random(4) }, () => someFilter(random, depth + 1));
  return kind < 9 ? { all: parts } : { any: parts };
}

/** A text with characters whose order in UTF-8 is not that in UTF-16. */
function textOf(row: number): string | undefined {
  return row % 9 === 0 ? undefined : `${['\uff5e', 'b', '\u{1f600}'][row % 3]}${row % 50}`;
}

export function having(...tokens: readonly string[]): readonly IndexFilter[] {
  return tokens.map((token) => ({ token }));
}

export const NEWEST = { column: 'modified', descending: true } as const;

function someOrder(random: Random): readonly IndexOrder[] {
  const orders: readonly (readonly IndexOrder[])[] = [
    [NEWEST],
    [{ column: 'price' }],
    [{ column: 'price', descending: true }],
    [{ matches: having('w1', 'w3', 'w1') }, NEWEST],
    [{ matches: having('w1', 'w2', 't3', 'none') }, NEWEST],
    [{ matches: [{ all: having('w1', 'w2') }, { any: having('t1', 't2') }, { prefix: 't9' }] }, NEWEST],
    [{ column: 'modified' }],
    [{ column: 'stock', descending: true }, { column: 'price' }],
    [{ column: 'brand', by: (value) => (value * 5) % 7 }],
    [{ matches: having('w1') }, { column: 'price' }],
    [{ matches: having('w1', 'w2') }, { column: 'brand' }, { matches: having('w1', 't1', 't2') }],
    [{ matches: having(...Array.from({ length: 20 }, (_, at) => `t${at}`)) }, NEWEST],
    [{ ofRow: textOf }],
    [{ column: 'brand' }, { ofRow: textOf, descending: true }],
    [],
  ];
  return orders[random(orders.length)]!;
}

export function someQuery(random: Random): IndexQuery {
  const order = someOrder(random);
  const group = {
    column: 'group',
    within: random(4) === 0 ? [NEWEST] : [{ column: 'price' }],
    members: random(2) === 0 ? 3 : 1_000,
    last: order.map(() => random(3) === 0),
  };
  return {
    filter: someFilter(random),
    order,
    offset: random(3) === 0 ? random(300) : 0,
    size: [0, 1, 10, 100, 1_000][random(5)]!,
    ...(random(2) === 0 ? {} : { group }),
  };
}

function someFacets(random: Random): readonly IndexFacet[] {
  const columns = ['price', 'stock', 'modified'];
  const column = columns[random(3)]!;
  const [from, step] = column === 'modified' ? [1_700_000_000_000, 86_400_000] : [random(3) - 2, 700];
  return [
    {
      startingWith: ['t', 'i', 'w', 'シュ', '\u{1f600}', 't9', '', 'b', 'b', 'b'][random(10)]!,
      size: [1, 5, 1_000][random(3)]!,
    },
    {
      near: ['t11', 'w', 'シュズ2', '\u{1f600}\u{1f601}', 'i1023', '1t', 'b211', '01'][random(8)]!,
      after: [[''], ['t', 'i', ''], ['シュ', 't']][random(3)]!,
      size: [1, 10, 1_000][random(3)]!,
    },
    { column, bounds: Array.from({ length: 1 + random(6) }, (_, at) => from + at * step) },
  ];
}

/** As `toEqual`, which takes most of the time of these tests where answers are equal. */
function expectEqual(found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
}

export function expectSame(
  index: SearchIndex,
  documents: readonly Placed[],
  query: IndexQuery,
  partitions?: Set<number>,
): void {
  const visible = documents.filter(({ partition }) => partitions?.has(partition) !== false);
  const answer = index.query(query, partitions);
  const expected = naive(visible, query);
  try {
    expectEqual(answer, expected);
  } catch (error) {
    throw new Error(`${JSON.stringify(query)}: ${String(error).slice(0, 2_000)}`, { cause: error });
  }
}

export function expectSameFacets(
  index: SearchIndex,
  documents: readonly Placed[],
  random: Random,
  partitions?: Set<number>,
): void {
  const visible = documents.filter(({ partition }) => partitions?.has(partition) !== false);
  const [filter, facets] = [someFilter(random), someFacets(random)];
  const found = index.countFacets(filter, facets, partitions);
  expectEqual({ filter, facets, found }, { filter, facets, found: naiveFacets(visible, filter, facets) });
}

/** All matches, by id and in batches. */
export function expectSameRows(
  index: SearchIndex,
  documents: readonly Placed[],
  filter: IndexFilter,
  after?: string,
): void {
  const { rows } = naive(documents, { filter, order: [], offset: 0, size: Infinity });
  const later =
    after === undefined
      ? rows.flat()
      : naive(documents, {
          filter,
          order: [],
          offset: 0,
          size: Infinity,
          after: { keys: [], id: after },
        }).rows.flat();
  expectEqual([...index.rows(filter, undefined, after)], later);
  const walked: [row: number, price: number][] = [];
  for (const { count, rows: own, values } of index.walk(filter, ['price']))
    for (let at = 0; at < count; at += 1) walked.push([own[at]!, values[0]![at]!]);
  const prices = new Map(documents.map(({ row, numbers }) => [row, numbers['price'] ?? NaN]));
  expectEqual(
    walked.sort(([a], [b]) => a - b),
    rows
      .flat()
      .map((row) => [row, prices.get(row)])
      .sort(([a], [b]) => a! - b!),
  );
}

/** Pages through all results by cursors. */
export function expectSamePages(index: SearchIndex, documents: readonly Placed[], query: IndexQuery): void {
  const size = Math.max(7, Math.ceil(naive(documents, query).total / 6));
  for (let after: IndexQuery['after'] = null; after !== undefined;) {
    const page: IndexQuery = { ...query, offset: 0, size, after };
    expectSame(index, documents, page);
    after = index.query(page).next;
  }
}

/** Adds documents, or replaces those with the same ids. */
export function append(index: SearchIndex, partition: number, documents: readonly SomeDocument[]): void {
  // Of several with one id, the last one counts.
  const added = [...new Map(documents.map((document) => [document.id, document])).values()];
  index.write([
    {
      partition,
      joining: [],
      deleted: added.map(({ id }) => id),
      added: added.map((one) => indexed(SCHEMA, one)),
    },
  ]);
}

export function remove(index: SearchIndex, partition: number, deleted: readonly string[]): void {
  index.write([{ partition, joining: [], deleted, added: [] }]);
}

export function finish(merge: Merge | undefined): void {
  if (merge === undefined) return;
  const steps = merge.steps();
  while (steps.next().done !== true);
  merge.commit();
}

export const ROUNDS = process.env['TEST_SIZE'] === 'full' ? 40 : 4;

/** Partitions share segments until they have 300 documents. */
export const SHARING: Schema = { ...SCHEMA, partitionToken: (partition) => `p${partition}` };

export const SHARED = 300;

/** A document with the token of its partition. */
export function placedIn(partition: number, document: SomeDocument): Placed {
  return { ...document, partition, tokens: `${document.tokens}\np${partition}` };
}
