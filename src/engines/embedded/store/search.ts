import {
  type Cursor,
  distinctWords,
  type Facet,
  type Filter,
  type Found,
  type GroupResults,
  type GroupSearch,
  type Order,
  type Page,
  type Paged,
  type Results,
  type Search,
  shuffler,
  type ValueCount,
  type ValuesSearch,
  type Word,
} from '../../../kernel/query';
import {
  type After,
  type Count,
  type IndexAnswer,
  type IndexFacet,
  type IndexFilter,
  type IndexOrder,
  type IndexQuery,
} from '../search/query';
import { type GenerationFile } from './generation-file';
import { column, type Layout, type Tokenized, tokenOf } from './layout';
import { DamagedIndex } from '../search/storage';
import { type SqlRow, type SqlValue, type StoreFile } from './store-file';

/** An expression for a version in the format of the port. */
export const VERSION = `format('%019d', version)`;

/** Makes a document of a row of id, version and body. */
export function documentOf([id, version, body]: SqlRow): Found {
  return { id: String(id), version: String(version), body: String(body) };
}

/** Makes a document of a row that starts with id and version. */
export function foundOf(row: SqlRow | undefined, body: string): Found[] {
  return row === undefined ? [] : [documentOf([row[0] ?? null, row[1] ?? null, body])];
}

/** Bodies per query. */
const BATCH_SIZE = 100;

/** The existing documents with these ids; with a limit of characters, the first ones. */
export function get({ file }: GenerationFile, ids: readonly string[], bodyLimit?: number): readonly Found[] {
  const query = `SELECT k.id, ${VERSION}, k.row FROM json_each(?) j CROSS JOIN keys k ON k.id = j.value`;
  return file.reading(() => {
    const rows = file.all(query, JSON.stringify([...new Set(ids)]));
    const bodies = bodiesOf(
      file,
      rows.map(([, , row]) => row),
      bodyLimit,
    );
    return bodies.flatMap((body, at) => foundOf(rows[at], body));
  });
}

/** The versions of the removals of these ids that are remembered. */
export function removalsOf(file: StoreFile, ids: readonly string[]): ReadonlyMap<string, string> {
  // Most generations have none.
  if (file.first('SELECT 1 FROM removed LIMIT 1') === undefined) return new Map();
  const query = `SELECT r.id, ${VERSION} FROM json_each(?) CROSS JOIN removed r ON r.id = value`;
  return new Map(file.all(query, JSON.stringify(ids)) as readonly [string, string][]);
}

/** Id and version of each of these rows, in order. Raises `DamagedIndex` if one does not exist: the index named it. */
export function keysOf(file: StoreFile, rows: readonly number[]): readonly SqlRow[] {
  if (rows.length === 0) return [];
  const query = `SELECT k.id, ${VERSION} FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value`;
  const keys = file.all(query, JSON.stringify(rows));
  requireAll(rows, keys);
  return keys;
}

function requireAll({ length }: readonly number[], found: readonly SqlRow[]): void {
  if (found.length !== length)
    throw new DamagedIndex(`${length - found.length} documents of the search index do not exist`);
}

/** The bodies of these rows, in order, up to about `limit` characters, but at least one. */
export function bodiesOf(
  file: StoreFile,
  rows: readonly (SqlValue | undefined)[],
  limit = Infinity,
): readonly string[] {
  const query = 'SELECT body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value';
  const bodies: string[] = [];
  let characters = 0;
  for (let from = 0; from < rows.length && characters < limit; from += BATCH_SIZE) {
    for (const [body] of file.all(query, JSON.stringify(rows.slice(from, from + BATCH_SIZE)))) {
      if (characters >= limit) break;
      const text = String(body);
      bodies.push(text);
      characters += text.length;
    }
  }
  return bodies;
}

/** A filter as the search index has it. */
interface Selection {
  readonly filter: IndexFilter;
  /** The partition values that can match; undefined for all. */
  readonly partitions: ReadonlySet<number> | undefined;
}

/** Translates a filter. Raises `UndeclaredField`. */
export function selectionOf(filter: Filter, layout: Layout): Selection {
  let partitions: ReadonlySet<number> | undefined;
  const others: IndexFilter[] = [];
  for (const part of conjuncts(filter)) {
    if ('in' in part && part.field === layout.partition) {
      const earlier = partitions;
      const values = part.in.filter((value) => typeof value === 'number');
      partitions = new Set(values.filter((value) => earlier?.has(value) !== false));
    } else others.push(conditionOf(part, layout));
  }
  return { filter: { all: others }, partitions };
}

function conjuncts(filter: Filter): readonly Filter[] {
  if ('all' in filter) return filter.all.flatMap(conjuncts);
  if ('any' in filter && filter.any.length === 1) return filter.any.flatMap(conjuncts);
  return [filter];
}

function conditionOf(filter: Filter, layout: Layout): IndexFilter {
  if ('all' in filter) return { all: filter.all.map((part) => conditionOf(part, layout)) };
  if ('any' in filter) return { any: filter.any.map((part) => conditionOf(part, layout)) };
  if ('words' in filter) {
    const fields = filter.within.map((name) => layout.field(name, 'words'));
    return { all: filter.words.map((word) => ({ any: fields.map((field) => wordIn(field, word)) })) };
  }
  if ('in' in filter) {
    const field = layout.field(filter.field, 'number', 'keyword', 'column');
    const isNumber = field.type === 'number';
    const values = [...new Set(filter.in)].filter((value) => (typeof value === 'number') === isNumber);
    return {
      any: layout.hasTokens(field)
        ? values.map((value) => ({ token: tokenOf(field, String(value)) }))
        : values.map((value) => ({ column: field.name, min: Number(value), max: Number(value) })),
    };
  }
  const { name } = layout.field(filter.field, 'number');
  return { column: name, min: filter.min, max: filter.max };
}

/** The documents that have a word in one field. */
function wordIn(field: Tokenized, word: Word): IndexFilter {
  if (typeof word === 'string') return { token: tokenOf(field, word) };
  if ('prefixes' in word) return { any: word.prefixes.map((prefix) => ({ prefix: field.code + prefix })) };
  return { any: word.map((tokens) => ({ all: tokens.map((token) => ({ token: tokenOf(field, token) })) })) };
}

/** Translates an order. Raises `UndeclaredField`. */
function orderOf(order: readonly Order[], { layout, file }: GenerationFile): readonly IndexOrder[] {
  return order.map((key): IndexOrder => {
    if ('matches' in key) {
      const field = layout.field(key.within, 'words');
      return { matches: distinctWords(key.matches).map((word) => wordIn(field, word)) };
    }
    if ('shuffled' in key)
      return { column: layout.field(key.shuffled, 'number').name, by: shuffler(key.seed) };
    const { name, type } = layout.field(key.field, 'number', 'text');
    const descending = key.descending === true;
    if (type === 'number') return { column: name, descending };
    const query = `SELECT ${column(name)} FROM keys WHERE row = ?`;
    return { ofRow: (row) => textOf(file.first(query, row)?.[0]), descending };
  });
}

function textOf(value: unknown): string | undefined {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : undefined;
}

/** One page in order, and the number of all matching documents, from one snapshot. */
export function search(generation: GenerationFile, wanted: Search, bodyLimit?: number): Results {
  return generation.file.reading(() => {
    const order = orderOf(wanted.order, generation);
    const answer = query(generation, wanted.filter, { order, ...pageOf(wanted) });
    const { keys, bodies } = readPage(generation, answer, bodyLimit);
    const rest = keys.slice(bodies.length).map(([id]) => String(id));
    return {
      ...pagedOf(answer),
      found: bodies.flatMap((body, at) => foundOf(keys[at], body)),
      ...(rest.length === 0 ? {} : { rest }),
    };
  });
}

/** One page of groups in order, each with its first members, and the number of all groups, from one snapshot. */
export function searchGroups(
  generation: GenerationFile,
  wanted: GroupSearch,
  bodyLimit?: number,
): GroupResults {
  const { layout } = generation;
  return generation.file.reading(() => {
    const answer = query(generation, wanted.filter, {
      order: orderOf(wanted.order, generation),
      ...pageOf(wanted),
      group: {
        column: layout.field(wanted.groupBy, 'column').name,
        within: orderOf(wanted.within, generation),
        members: wanted.members,
        last: wanted.order.map(({ by, descending }) => (by === 'least') === (descending === true)),
      },
    });
    const { keys, bodies } = readPage(generation, answer, bodyLimit);
    const groups: Found[][] = [];
    let used = 0;
    for (const members of answer.rows) {
      const own = bodies.slice(used, used + members.length);
      // The first group may exceed the limit alone: it is truncated.
      if (own.length < members.length && used > 0) break;
      if (own.length === 0) break;
      const from = used;
      groups.push(own.flatMap((body, at) => foundOf(keys[from + at], body)));
      used += members.length;
    }
    const rest = answer.rows.slice(groups.length).map((members) => {
      const ids = keys.slice(used, used + members.length).map(([id]) => String(id));
      used += members.length;
      return ids;
    });
    return { ...pagedOf(answer), groups, ...(rest.length === 0 ? {} : { rest }) };
  });
}

export function count(generation: GenerationFile, filter: Filter): number {
  const selection = selectionOf(filter, generation.layout);
  return generation.file.reading(() => countIn(generation, selection));
}

/** The number of matching documents, within the current transaction. */
export function countIn({ index, check }: GenerationFile, { filter, partitions }: Selection): number {
  return index.query({ filter, order: [], offset: 0, size: 0 }, partitions, check).total;
}

function query(
  { index, layout, check }: GenerationFile,
  filter: Filter,
  wanted: Omit<IndexQuery, 'filter'>,
): IndexAnswer {
  const selection = selectionOf(filter, layout);
  return index.query({ filter: selection.filter, ...wanted }, selection.partitions, check);
}

function readPage(
  { file }: GenerationFile,
  answer: IndexAnswer,
  bodyLimit: number | undefined,
): { readonly keys: ReturnType<typeof keysOf>; readonly bodies: readonly string[] } {
  const rows = answer.rows.flat();
  if (rows.length > BATCH_SIZE) return { keys: keysOf(file, rows), bodies: bodiesOf(file, rows, bodyLimit) };
  const found = rows.length === 0 ? [] : file.all(DOCUMENTS, JSON.stringify(rows));
  requireAll(rows, found);
  return {
    keys: found,
    bodies: withinLimit(
      found.map(([, , body]) => String(body)),
      bodyLimit,
    ),
  };
}

/** Keys and bodies of a few rows at once: each statement takes as long as reading a document. */
const DOCUMENTS = `
  SELECT k.id, ${VERSION}, b.body FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value
  CROSS JOIN bodies b ON b.row = j.value`;

/** The first texts, up to about `limit` characters, but at least one. */
function withinLimit(texts: readonly string[], limit = Infinity): readonly string[] {
  let characters = 0;
  const end = texts.findIndex((text) => (characters += text.length) >= limit);
  return end === -1 ? texts : texts.slice(0, end + 1);
}

function pageOf({ offset, size, after }: Page): Pick<IndexQuery, 'offset' | 'size' | 'after'> {
  return { offset, size, ...(after === undefined ? {} : { after: after === null ? null : afterOf(after) }) };
}

function afterOf({ keys, id }: Cursor): After {
  return { keys: keys.map((key) => key ?? NaN), id };
}

function pagedOf({ total, next }: IndexAnswer): Paged {
  return { total, ...(next === undefined ? {} : { next: cursorOf(next) }) };
}

function cursorOf({ keys, id }: After): Cursor {
  return { keys: keys.map((key) => (Number.isNaN(key) ? null : key)), id };
}

/** How many matching documents have each value, per facet. */
export function countValues(
  { file, index, layout, check }: GenerationFile,
  { filter, facets }: ValuesSearch,
): readonly (readonly ValueCount[])[] {
  return file.reading(() => {
    const selection = selectionOf(filter, layout);
    const wanted = facets.map((facet) => facetOf(facet, layout));
    const counts = index.countFacets(
      selection.filter,
      wanted.map(({ facet }) => facet),
      selection.partitions,
      check,
    );
    return wanted.map(({ valuesOf }, at) => valuesOf(counts[at] ?? []));
  });
}

interface Translated {
  readonly facet: IndexFacet;
  readonly valuesOf: (counts: readonly Count[]) => readonly ValueCount[];
}

function facetOf(facet: Facet, layout: Layout): Translated {
  if ('bounds' in facet) {
    const { name } = layout.field(facet.field, 'number');
    return { facet: { column: name, bounds: facet.bounds }, valuesOf: (counts) => counts };
  }
  if ('near' in facet) {
    const { near, within, size } = facet;
    const after = within.map((name) => layout.field(name, 'words').code);
    return { facet: { near, after, size }, valuesOf: (counts) => counts };
  }
  const { code, type } = layout.facet(facet.field);
  const { size, prefix = '' } = facet;
  const textOf = ({ value }: Count): string => String(value).slice(code.length);
  if (type !== 'number')
    return {
      facet: { startingWith: code + prefix, size },
      valuesOf: (counts) => counts.map((one) => ({ value: textOf(one), count: one.count })),
    };
  return {
    // All of them: numbers are not in the order of their texts.
    facet: { startingWith: code, size: Infinity },
    valuesOf: (counts) =>
      counts
        .map((one) => ({ value: Number(textOf(one)), count: one.count }))
        .sort((a, b) => b.count - a.count || a.value - b.value)
        .slice(0, size),
  };
}
