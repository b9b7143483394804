import { type estypes } from '@elastic/elasticsearch';
import { type Filter, type Word } from '../../kernel/query';
import { encode, ID, type IndexLayout, property } from './layout';

export type Query = estypes.QueryDslQueryContainer;

/** Values per `terms` query: the server allows 65,536. */
const MAX_VALUES = 50_000;

const NOTHING: Query = { match_none: {} };
const ANYTHING: Query = { match_all: {} };

/** A query for the documents that match a filter, without scores. Raises `UndeclaredField`. */
export function queryOf(
  filter: Filter,
  layout: IndexLayout,
): { readonly bool: { readonly filter: Query[] } } {
  return { bool: { filter: [{ exists: { field: ID } }, ...conditionsOf(filter, layout)] } };
}

/** Matches a word in a field. */
export function having(field: string, word: Word): Query {
  if (typeof word !== 'string' && 'prefixes' in word)
    return anyOf(word.prefixes.map((value) => ({ prefix: { [property(field)]: { value } } })));
  if (typeof word !== 'string')
    return anyOf(word.map((tokens) => allOf(tokens.map((token) => having(field, token)))));
  return { term: { [property(field)]: encode(word) } };
}

/** The conditions of a filter, all of which must match. */
function conditionsOf(filter: Filter, layout: IndexLayout): Query[] {
  if ('all' in filter) return filter.all.flatMap((part) => conditionsOf(part, layout));
  if ('any' in filter) return [anyOf(filter.any.map((part) => allOf(conditionsOf(part, layout))))];
  if ('words' in filter) {
    const fields = filter.within.map((name) => layout.field(name, 'words').name);
    return filter.words.map((word) => anyOf(fields.map((field) => having(field, word))));
  }
  if ('in' in filter) {
    const { name, type } = layout.field(filter.field, 'number', 'keyword', 'column');
    return [amongValues(name, valuesOf(type === 'number', filter.in))];
  }
  const { name } = layout.field(filter.field, 'number');
  return [withinBounds(name, filter.min, filter.max)];
}

/** The distinct values that the field can have at all. */
function valuesOf(isNumber: boolean, given: readonly (string | number)[]): (string | number)[] {
  const possible = given.filter((value) =>
    isNumber ? Number.isSafeInteger(value) : typeof value === 'string',
  );
  return [...new Set(possible)];
}

function amongValues(field: string, values: readonly (string | number)[]): Query {
  const lists: Query[] = [];
  for (let from = 0; from < values.length; from += MAX_VALUES) {
    const some = values.slice(from, from + MAX_VALUES);
    lists.push({
      terms: { [property(field)]: some.map((value) => (typeof value === 'string' ? encode(value) : value)) },
    });
  }
  return anyOf(lists);
}

function withinBounds(field: string, min = -Infinity, max = Infinity): Query {
  const name = property(field);
  const [least, most] = [Math.ceil(min), Math.floor(max)];
  if (Number.isNaN(least) || Number.isNaN(most) || least > most) return NOTHING;
  const bounds = {
    ...(Number.isSafeInteger(least) ? { gte: least } : {}),
    ...(Number.isSafeInteger(most) ? { lte: most } : {}),
  };
  if (least > Number.MAX_SAFE_INTEGER || most < Number.MIN_SAFE_INTEGER) return NOTHING;
  return Object.keys(bounds).length === 0 ? { exists: { field: name } } : { range: { [name]: bounds } };
}

function allOf(queries: Query[]): Query {
  const [first = ANYTHING, ...others] = queries;
  return others.length === 0 ? first : { bool: { filter: queries } };
}

export function anyOf(queries: Query[]): Query {
  const [first = NOTHING, ...others] = queries;
  return others.length === 0 ? first : { bool: { should: queries, minimum_should_match: 1 } };
}
