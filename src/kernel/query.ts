import { hash } from 'node:crypto';
import { NamedError } from './fault';
import { type Position } from './event';

/** A stored document. */
export interface Found {
  readonly id: string;
  readonly version: Position;
  readonly body: string;
}

/**
 * A word to find: a token, or its spellings, each made of tokens that one field must have together, or any token of at
 * most `MAX_COUNTED` UTF-16 units that begins with one of some texts.
 */
export type Word = string | readonly (readonly string[])[] | { readonly prefixes: readonly string[] };

export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  /** The field has one of these values; of a field with several strings, at least one matches. */
  | { readonly field: string; readonly in: readonly (string | number)[] }
  /** The `number` field is within these bounds, inclusive. */
  | { readonly field: string; readonly min?: number; readonly max?: number }
  /** Each of these words is in at least one of these `words` fields. */
  | { readonly words: readonly Word[]; readonly within: readonly string[] };

/** A `QueryOptions.spent` of nothing so far. */
export function nothingSpent(): NonNullable<QueryOptions['spent']> {
  return [0];
}

/** The different ones of some words. */
export function distinctWords(words: readonly Word[]): readonly Word[] {
  return distinct(words);
}

function distinct<Value>(values: readonly Value[]): readonly Value[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Matches every document. */
export const EVERYTHING: Filter = { all: [] };

/**
 * One sort key:
 * - the value of a `number` or `text` field; documents without it come last in either direction;
 * - how many of the distinct words `matches` are in a `words` field: each once, however many tokens it has;
 * - the rank of a `number` field's value in the random order of a seed (`shuffler`).
 *
 * Remaining ties are ordered by id, ascending.
 */
export type Order =
  | { readonly field: string; readonly descending?: boolean }
  | { readonly matches: readonly Word[]; readonly within: string; readonly descending: true }
  | { readonly shuffled: string; readonly seed: number; readonly descending?: false };

/** A point in an ordered result: the sort keys of a document (null for a missing value) and its id. */
export interface Cursor {
  readonly keys: readonly (number | string | null)[];
  readonly id: string;
}

/** Selects a page of the results. */
export interface Page {
  /**
   * Results to skip, and results to return. `size` is at most 10,000. `offset + size` is too, unless a `shuffled` key
   * comes first in the order.
   */
  readonly offset: number;
  readonly size: number;
  /**
   * Pages through any number of results: returns those after the cursor, from the first one if null, and the answer has
   * the cursor of the next page. `offset` must be 0 then, and `size` 1 to 9,999.
   */
  readonly after?: Cursor | null;
}

export interface Paged {
  readonly total: number;
  /** The cursor of the next page, if `after` was given and there is one. */
  readonly next?: Cursor;
}

/** Whom a query runs for, and its limits. */
export interface QueryOptions {
  /** Waiting queries are scheduled fairly by client. Queries without a client share one. */
  readonly client?: string;
  /** Milliseconds the query may run, not counting the time in a queue. By default unlimited. */
  readonly timeLimit?: number;
  /**
   * For queries that share one `timeLimit`: the milliseconds that those before have run, to which each adds its own.
   * `get` has the whole time limit in any case, and adds nothing.
   */
  readonly spent?: [milliseconds: number];
  /**
   * For queries that make one answer: which generation it is from, by collection. The first query of a live generation
   * notes it, and later ones read the same, although another may be live by then. They raise `NoGeneration` if it was
   * dropped.
   */
  readonly generations?: Map<string, number>;
  /** Aborting it cancels the query, which raises the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Approximate maximum of body characters in an answer of more than a hundred documents. By default unlimited.
   * `search` and `searchGroups` return only the ids of the documents beyond it (`rest`), and omit members of a group
   * that exceeds it alone. `get` returns the first documents in the order of the ids given, at least one.
   */
  readonly bodyLimit?: number;
}

/** For queries that make one answer: all of them read one generation of each collection. */
export function oneAnswer(query: QueryOptions = {}): QueryOptions {
  return { generations: new Map(), ...query };
}

export interface Search extends Page {
  readonly filter: Filter;
  readonly order: readonly Order[];
}

/** One sort key of groups: the least or the greatest value among the members of a group. */
export type GroupOrder = { readonly by: 'least' | 'greatest' } & Order;

/** The cursor of a group consists of its sort keys and the id of its first member. */
export interface GroupSearch extends Page {
  readonly filter: Filter;
  /** A `column` field. Every matching document must have it. */
  readonly groupBy: string;
  /** Order of the members in a group; ties by id, ascending. */
  readonly within: readonly Order[];
  /** Order of the groups; ties by the id of the first member. */
  readonly order: readonly GroupOrder[];
  /** Maximum members returned per group: the first ones. */
  readonly members: number;
}

/** A page of documents. `rest`: ids of its last documents, omitted from `found` because of `bodyLimit`. */
export interface Results extends Paged {
  readonly found: readonly Found[];
  readonly rest?: readonly string[];
}

/** A page of groups. `rest`: ids of the members of its last groups, omitted from `groups` because of `bodyLimit`. */
export interface GroupResults extends Paged {
  readonly groups: readonly (readonly Found[])[];
  readonly rest?: readonly (readonly string[])[];
}

export interface GroupCount {
  readonly filter: Filter;
  /** A `column` field. Documents without it are not counted. */
  readonly groupBy: string;
  /** Maximum groups per answer: 1 to 10,000. */
  readonly size: number;
  /** `next` of the previous answer. */
  readonly after?: string;
}

/**
 * Maximum of body characters in an answer of `countGroups`, whatever `size` is: the answer ends with the group that
 * exceeds it.
 */
export const GROUPS_CHARACTERS = 8_000_000;

/** A page of groups, in an order the engine chooses. Successive answers, and parts of a long one, may differ in age. */
export interface GroupCounts {
  /** Each group with any one of its documents. */
  readonly groups: readonly { readonly count: number; readonly one: Found }[];
  /** Where to continue; absent in the last answer. */
  readonly next?: string;
}

/** Sums over the matching documents, per combination of values. */
export interface TotalsSearch {
  readonly filter: Filter;
  /** `column` fields, or periods of time. Documents that lack one of the fields are left out. */
  readonly by: readonly [TotalsBy, ...TotalsBy[]];
  /** `number` fields; a document without one adds nothing. */
  readonly sums: readonly string[];
  /** With more combinations, the answer is of any that are more than this. By default unlimited. */
  readonly most?: number;
}

export type TotalsPeriod = 'day' | 'week' | 'month';

/** A period is of a `number` field with epoch ms; its value is its first day (UTC), a week begins on Monday. */
export type TotalsBy = string | { readonly field: string; readonly every: TotalsPeriod };

const DAY = 86_400_000;
/** Of the first Monday after 1970 began, in days. */
const MONDAY = 4;

/** The first day of the period that has a time (epoch ms), as the number of days since 1970. */
export function firstDayOf(time: number, every: TotalsPeriod): number {
  const day = Math.floor(time / DAY);
  if (every === 'day') return day;
  if (every === 'week') return Math.floor((day - MONDAY) / 7) * 7 + MONDAY;
  const date = new Date(day * DAY);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / DAY;
}

/** Days since 1970 as a date, `YYYY-MM-DD`. */
export function dateOf(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10);
}

/**
 * The documents with these values of `by`: how many they are, and the sums of the `sums` fields, rounded
 * beyond 2^53.
 */
export interface Totals {
  readonly values: readonly string[];
  readonly count: number;
  readonly sums: readonly number[];
}

/** Counts values among the matching documents. */
export interface ValuesSearch {
  readonly filter: Filter;
  readonly facets: readonly Facet[];
}

/** What to count. A document is counted once per value that it has. */
export type Facet =
  /**
   * The values of a field that is declared in `facets`: those that most documents have, at most `size`; equal counts by
   * value, ascending (strings by their bytes in UTF-8). Strings of more than `MAX_COUNTED` UTF-16 units or with control
   * characters (below U+0020) are left out. `prefix`: only strings that start with it.
   */
  | { readonly field: string; readonly size: number; readonly prefix?: string }
  /**
   * The ranges of a `number` field between these bounds, which ascend: below the first one, from each one to before the
   * next, and from the last one on; 1 to 100. The values are the numbers of the ranges, from 0, also of empty ones.
   */
  | { readonly field: string; readonly bounds: readonly number[] }
  /**
   * This word, of 4 to 60 letters, if any document has it in one of these `words` fields; otherwise the words that
   * differ from it in one letter (code point): it is missing, or is one too many, or is another one, or has changed
   * places with its neighbour. Those that most documents have, at most `size`; equal counts by their bytes in UTF-8.
   */
  | { readonly near: string; readonly within: readonly string[]; readonly size: number };

/** How many of the matching documents have a value. */
export interface ValueCount {
  readonly value: string | number;
  readonly count: number;
}

/** A query exceeded its `timeLimit` (ms). */
export class QueryTooLong extends NamedError {
  constructor(readonly timeLimit: number) {
    super(`the query has run for longer than ${timeLimit} ms`);
  }
}

/** Inclusive. */
export interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Builds filters on the fields of one collection. A criterion that is not given makes no filter. */
interface FiltersOn<Field extends string> {
  readonly among: (field: Field, values: readonly (string | number)[] | undefined) => Filter | undefined;
  /** The `number` field is within bounds. */
  readonly between: (field: Field, bounds: Bounds) => Filter | undefined;
  /**
   * All words of one of the alternatives are in the `words` fields; one without words matches everything. What is
   * repeated is looked for once.
   */
  readonly text: (
    within: readonly Field[],
    alternatives: readonly (readonly Word[])[] | undefined,
  ) => Filter | undefined;
}

const BUILDERS: FiltersOn<string> = {
  among: (field, values) => values && { field, in: values },
  between: (field, { min, max }) =>
    min === undefined && max === undefined
      ? undefined
      : { field, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) },
  text(within, alternatives) {
    if (alternatives === undefined) return undefined;
    if (alternatives.some(({ length }) => length === 0)) return EVERYTHING;
    return { any: distinct(alternatives.map(distinctWords)).map((words) => ({ words, within })) };
  },
};

export function filtersOn<Field extends string>(): FiltersOn<Field> {
  return BUILDERS;
}

/** What passes all filters that are given. */
export function allOf(...filters: readonly (Filter | undefined)[]): Filter {
  return { all: filters.filter((filter) => filter !== undefined) };
}

/**
 * A prime below 2^26, so that products are exact in every engine's arithmetic. It is 2 modulo 3, so cubing modulo this
 * prime is a permutation.
 */
export const SHUFFLE_PRIME = 67_108_859;

/** The two summands of a seed. Permanent: a seed must always give the same order. */
function shuffleSummands(seed: number): readonly [number, number] {
  const digest = hash('sha256', String(seed), 'buffer');
  return [digest.readUInt32BE(0) % SHUFFLE_PRIME, digest.readUInt32BE(4) % SHUFFLE_PRIME];
}

/**
 * Ranks values in the random order of a seed: `((value + a)³ + b)³` modulo the prime. Values less than the prime apart
 * never share a rank.
 */
export function shuffler(seed: number): (value: number) => number {
  const [a, b] = shuffleSummands(seed);
  return (value) =>
    cube((cube(((value % SHUFFLE_PRIME) + SHUFFLE_PRIME + a) % SHUFFLE_PRIME) + b) % SHUFFLE_PRIME);
}

function cube(x: number): number {
  return (((x * x) % SHUFFLE_PRIME) * x) % SHUFFLE_PRIME;
}
