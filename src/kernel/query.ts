import { type Position } from './event';

/** A document found. */
export interface Found {
  readonly id: string;
  readonly version: Position;
  readonly body: string;
}

export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  /** The field has (for several strings: one of them is) one of these values. */
  | { readonly field: string; readonly in: readonly (string | number)[] }
  /** Inclusive bounds of a `number` field. */
  | { readonly field: string; readonly min?: number; readonly max?: number }
  /** Each of these words is in one of these `words` fields. */
  | { readonly words: readonly string[]; readonly within: readonly string[] };

/** Everything. */
export const EVERYTHING: Filter = { all: [] };

/**
 * One sort key: a `number` field (documents without it come last either way), how many of the distinct
 * `words` a `words` field has, or the place that a `number` field has in the random order of a seed (`shuffled`).
 * Ties at the end go by id, ascending.
 */
export type Order =
  | { readonly field: string; readonly descending?: boolean }
  | { readonly matches: readonly string[]; readonly within: string; readonly descending: true }
  | { readonly shuffled: string; readonly seed: number; readonly descending?: false };

/** Where a result stands in an order: its value of each sort key, null where it has none, and its id. */
export interface Cursor {
  readonly keys: readonly (number | null)[];
  readonly id: string;
}

/** Which results are returned. */
export interface Page {
  /**
   * Results to skip and to return: `size` is at most 10,000, and so is `offset + size` but in an order that begins with a
   * `shuffled` field.
   */
  readonly offset: number;
  readonly size: number;
  /**
   * Goes through the results page by page, however many there are: only what stands after the last one of the page
   * before, from the first one if null, and the answer says where the next page begins. `offset` is 0 then, `size` 1 to
   * 9,999.
   */
  readonly after?: Cursor | null;
}

/** How many results there are in all; where the next page begins, if it is asked for and there is one. */
export interface Paged {
  readonly total: number;
  readonly next?: Cursor;
}

/** On whose behalf a query runs, and for how long. */
export interface QueryOptions {
  /** Clients take turns where queries have to wait for each other; queries without one are those of one more client. */
  readonly client?: string;
  /** Milliseconds that the query may run, waiting aside. By default any number. */
  readonly timeLimit?: number;
  /** Once aborted, the query is dropped or stopped, and its reason is raised. */
  readonly signal?: AbortSignal;
  /**
   * About how many characters of bodies an answer may have, where it has more than a hundred documents. By default any
   * number. What does not fit in is left out: `search` and `searchGroups` return the ids alone (`rest`), and leave
   * out members of a group that is larger by itself; `get` returns the first ones, one at least, in the order of the ids.
   */
  readonly bodyLimit?: number;
}

export interface Search extends Page {
  readonly filter: Filter;
  readonly order: readonly Order[];
}

/** An order of groups: by the least or the greatest value that a member has of a sort key. */
export type GroupOrder = { readonly by: 'least' | 'greatest' } & Order;

/** A group stands where its sort keys and the id of its first member are. */
export interface GroupSearch extends Page {
  readonly filter: Filter;
  /** A `column` field; every document that matches must have it. */
  readonly groupBy: string;
  /** Order of the members; ties by id ascending. */
  readonly within: readonly Order[];
  /** Order of the groups; ties by the id of the first member. */
  readonly order: readonly GroupOrder[];
  /** Most members returned of one group: the first ones. */
  readonly members: number;
}

/** A page. `rest`: ids of its last documents, which are not in `found` (`bodyLimit`). */
export interface Results extends Paged {
  readonly found: readonly Found[];
  readonly rest?: readonly string[];
}

/** A page of groups. `rest`: ids of the members of its last groups, which are not in `groups` (`bodyLimit`). */
export interface GroupResults extends Paged {
  readonly groups: readonly (readonly Found[])[];
  readonly rest?: readonly (readonly string[])[];
}

export interface GroupCount {
  readonly filter: Filter;
  /** A `column` field; a document without it is in no group. */
  readonly groupBy: string;
  /** Most groups of an answer, at least one, at most 10,000. */
  readonly size: number;
  /** The `next` of the answer before. */
  readonly after?: string;
}

/**
 * Bodies of an answer's groups may have so many characters together: it ends with the group that brings them beyond that,
 * however many groups were asked for.
 */
export const GROUPS_CHARACTERS = 8_000_000;

/**
 * Some of the groups, in an order of the engine's own. Answers that follow one another are not of one moment, and a long
 * one need not be either.
 */
export interface GroupCounts {
  /** Each with any one of its documents. */
  readonly groups: readonly { readonly count: number; readonly one: Found }[];
  /** Where to go on; absent when these are the last ones. */
  readonly next?: string;
}

/** A query has run for longer than its `timeLimit` (ms). */
export class QueryTooLong extends Error {
  override readonly name = 'QueryTooLong';
  constructor(readonly timeLimit: number) {
    super(`the query has run for longer than ${timeLimit} ms`);
  }
}
