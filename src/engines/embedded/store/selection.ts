import { distinctWords, type Filter, type Order, shuffler, type Word } from '../../../kernel/query';
import { type Filter as IndexFilter, type Order as IndexOrder } from '../search/query';
import { type GenerationFile } from './generation-file';
import { column, type Layout, type Tokenized, tokenOf } from './layout';

/** A filter as the search index has it. */
export interface Selection {
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
export function orderOf(order: readonly Order[], { layout, file }: GenerationFile): readonly IndexOrder[] {
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
