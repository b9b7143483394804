/** Selects documents. */
export type IndexFilter =
  | { readonly all: readonly IndexFilter[] }
  | { readonly any: readonly IndexFilter[] }
  | { readonly token: string }
  /** Any token that starts with this. */
  | { readonly prefix: string }
  /** A column's value is within these bounds, inclusive; a missing one never is. */
  | { readonly column: string; readonly min?: number | undefined; readonly max?: number | undefined };

/** A sort key; missing values come last in either direction. Ties are ordered by id. */
export type IndexOrder =
  | { readonly column: string; readonly descending?: boolean }
  /** How many of these filters a document meets, most first. */
  | { readonly matches: readonly IndexFilter[] }
  /** A function of the column's value. */
  | { readonly column: string; readonly by: (value: number) => number }
  /**
   * What the caller knows of a document by its row; undefined for a missing value. Texts are ordered by their bytes.
   */
  | { readonly ofRow: (row: number) => Key | undefined; readonly descending?: boolean };

/** A sort key; NaN is a missing one. */
export type Key = number | string;

/** The sort keys of a result and its id. */
export interface After {
  readonly keys: readonly Key[];
  readonly id: string;
}

export interface IndexQuery {
  readonly filter: IndexFilter;
  readonly order: readonly IndexOrder[];
  /** Results to skip; 0 with `after`. */
  readonly offset: number;
  readonly size: number;
  /** Returns the results after this one; null is before the first. */
  readonly after?: After | null;
  /** Groups are counted and paged instead of documents. */
  readonly group?: {
    readonly column: string;
    /** The order of the members of a group. */
    readonly within: readonly IndexOrder[];
    /** Most members returned. */
    readonly members: number;
    /**
     * Per sort key, whether that of a group is the first or the last one of its members: by default the first, in the
     * direction of the key.
     */
    readonly last?: readonly boolean[];
  };
}

/** What to count among all matching documents. */
export type IndexFacet =
  /**
   * Tokens that start with this, and contain no control characters (below U+0020): those of most documents, at most
   * `size`; equal counts by their bytes.
   */
  | { readonly startingWith: string; readonly size: number }
  /**
   * Ranges of a column's values between bounds, which ascend: below the first one, from each one to before the next,
   * and from the last one on.
   */
  | { readonly column: string; readonly bounds: readonly number[] }
  /**
   * After one of some beginnings of tokens: this word, if any document has it; otherwise the words that differ from it
   * in one letter (a missing one, one too many, another one, two that have changed places): those that most documents
   * have, at most `size`; equal counts by their bytes.
   */
  | { readonly near: string; readonly after: readonly string[]; readonly size: number };

/** A token, or the number of a range from 0, and how many of the matching documents have it. */
export interface Count {
  readonly value: string | number;
  readonly count: number;
}

export interface IndexAnswer {
  /** All matching documents, or groups. */
  readonly total: number;
  /** The page, by the caller's numbers: groups of documents, each of one document without `group`. */
  readonly rows: readonly (readonly number[])[];
  /** The last result of the page, if `after` is given and there are more. */
  readonly next?: After;
}
