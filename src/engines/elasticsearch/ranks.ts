import { type estypes } from '@elastic/elasticsearch';
import {
  type Cursor,
  distinctWords,
  type Found,
  type Order,
  type Page,
  shuffler,
  type Word,
} from '../../kernel/query';
import { ID, type IndexLayout, property } from './layout';
import { having, type Query, type queryOf, type Snapshot, type SnapshotPage } from './query';

/** The value of a sort key; undefined if it is missing. */
export type SortValue = number | string | undefined;

/** What documents are compared by: their sort keys, and their ids as bytes. */
export interface Rank {
  readonly keys: readonly SortValue[];
  readonly id: Buffer;
}

/** A matching document with its sort keys. */
export interface RankedHit<Source> extends Rank {
  readonly group: string;
  readonly source: Source;
}

/** Documents per request: sort keys only, or whole documents. */
const PAGE = { keys: 10_000, whole: 500 } as const;

/**
 * Reads all matching documents, unordered, with their sort keys: for orders that the server does not support. `group`
 * is the field to group by.
 */
export class Ranks {
  private readonly score: Score;
  private readonly fields: readonly string[];
  /** Per sort key, maps the value of the field to what is compared. */
  private readonly transforms: readonly ((value: number) => number)[];

  constructor(
    private readonly order: readonly Order[],
    layout: IndexLayout,
    private readonly group?: string,
  ) {
    this.score = new Score(
      order.filter((key) => 'matches' in key),
      layout,
    );
    this.transforms = order.map((key) => ('shuffled' in key ? shuffler(key.seed) : (value: number) => value));
    const sorted = order.flatMap((key) => {
      const name = fieldOf(key);
      const types = 'shuffled' in key ? (['number'] as const) : (['number', 'text'] as const);
      return name === undefined ? [] : layout.field(name, ...types).name;
    });
    this.fields = [...new Set([...sorted, ...(group === undefined ? [] : [group])])].map(property);
  }

  keys(snapshot: Snapshot, query: FilterQuery): AsyncIterable<RankedHit<undefined>> {
    return this.all<undefined>(snapshot, query, { _source: false, stored_fields: '_none_', size: PAGE.keys });
  }

  whole(snapshot: Snapshot, query: FilterQuery): AsyncIterable<RankedHit<Found>> {
    return this.all<Found>(snapshot, query, { size: PAGE.whole });
  }

  private async *all<Source extends Found | undefined>(
    snapshot: Snapshot,
    query: FilterQuery,
    options: Pick<SnapshotPage, '_source' | 'stored_fields' | 'size'>,
  ): AsyncGenerator<RankedHit<Source>> {
    const pages = snapshot.pages<Source>({
      ...options,
      query: this.score.of(query) satisfies Query,
      sort: [{ _shard_doc: 'asc' }],
      track_scores: this.score.parts.length > 0,
      docvalue_fields: [ID, ...this.fields],
    });
    for await (const hits of pages) for (const hit of hits) yield this.ranked(hit);
  }

  private ranked<Source>(hit: estypes.SearchHit<Source>): RankedHit<Source> {
    const counts = this.score.counts(hit._score ?? 0);
    const value = (name: string): unknown => (hit.fields?.[name] as readonly unknown[] | undefined)?.[0];
    return {
      keys: this.order.map((key, at) => {
        const name = fieldOf(key);
        const of = name === undefined ? counts.shift() : value(property(name));
        return typeof of === 'number' ? this.transforms[at]?.(of) : typeof of === 'string' ? of : undefined;
      }),
      id: Buffer.from(String(value(ID))),
      group: this.group === undefined ? '' : String(value(property(this.group))),
      source: hit._source as Source,
    };
  }
}

/** The field of a sort key; undefined for counts of words. */
function fieldOf(key: Order): string | undefined {
  if ('matches' in key) return undefined;
  return 'field' in key ? key.field : key.shuffled;
}

/** Items to collect beyond a page before the excess is discarded, as sorting for each item would cost more. */
const SLACK = 10_000;

/** Selects one page from items added in any order, and the cursor of the next page. */
export class PageCollector<Item> {
  private items: Item[] = [];
  /** The page begins after it. */
  readonly after: Rank | undefined;
  /** Items up to the end of the page. */
  readonly limit: number;

  constructor(
    private readonly wanted: Page,
    private readonly compare: (a: Rank, b: Rank) => number,
    private readonly rankOf: (item: Item) => Rank,
  ) {
    const { offset, size, after } = wanted;
    this.limit = after === undefined ? offset + size : size + 1;
    if (after !== undefined && after !== null)
      this.after = { keys: after.keys.map((key) => key ?? undefined), id: Buffer.from(after.id) };
  }

  add(item: Item): void {
    if (this.after !== undefined && this.compare(this.rankOf(item), this.after) <= 0) return;
    this.items.push(item);
    if (this.items.length > 2 * this.limit + SLACK) this.items = this.firstItems();
  }

  end(): { readonly page: readonly Item[]; readonly next: Cursor | undefined } {
    const { offset, size, after } = this.wanted;
    const firstItems = this.firstItems();
    if (after === undefined) return { page: firstItems.slice(offset), next: undefined };
    const page = firstItems.slice(0, size);
    const last = firstItems.length > size ? page.at(-1) : undefined;
    if (last === undefined) return { page, next: undefined };
    const { keys, id } = this.rankOf(last);
    return { page, next: { keys: keys.map((key) => key ?? null), id: id.toString() } };
  }

  private firstItems(): Item[] {
    return this.items.sort((a, b) => this.compare(this.rankOf(a), this.rankOf(b))).slice(0, this.limit);
  }
}

/** Compares in an order: a missing value comes last in either direction; ties are ordered by the bytes of the id. */
export function compareRanks(order: readonly Order[]): (a: Rank, b: Rank) => number {
  return (a, b) => compareKeys(order, a.keys, b.keys) || a.id.compare(b.id);
}

function compareKeys(order: readonly Order[], a: readonly SortValue[], b: readonly SortValue[]): number {
  for (const [at, { descending = false }] of order.entries()) {
    const compared = compareSortValues(a[at], b[at], descending);
    if (compared !== 0) return compared;
  }
  return 0;
}

/** Compares two values of one sort key. */
export function compareSortValues(a: SortValue, b: SortValue, descending: boolean): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const compared = compareValues(a, b);
  return descending ? -compared : compared;
}

/** Compares two values of one field: numbers, or texts by their bytes. */
export function compareValues(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return Buffer.from(String(a)).compare(Buffer.from(String(b)));
}

export type FilterQuery = ReturnType<typeof queryOf>;

/** A sort key that counts matching words. */
export type MatchOrder = Extract<Order, { readonly matches: readonly Word[] }>;

/** Scores are 32-bit floating-point numbers, which are exact for integers up to this. */
const MAX_SCORE = 2 ** 24;

/**
 * Encodes counts of words as the one score that the server computes per document. The counts are the digits of an
 * integer, so a greater score means a greater first count, then a greater second one, and so on.
 */
export class Score {
  private readonly weights: readonly number[];
  /** Queries whose boosts add up to the score. */
  readonly parts: readonly Query[];

  constructor(counts: readonly MatchOrder[], layout: IndexLayout) {
    const words = counts.map(({ matches }) => distinctWords(matches));
    const weights: number[] = [];
    let weight = 1;
    for (const list of words.toReversed()) {
      weights.unshift(weight);
      weight *= list.length + 1;
    }
    if (weight > MAX_SCORE) throw new Error(`${words.flat().length} words: too many to order by`);
    this.weights = weights;
    this.parts = counts.flatMap(({ within }, at) => {
      const field = layout.field(within, 'words').name;
      const boost = weights[at] ?? 1;
      return (words[at] ?? []).map((word) => ({ constant_score: { filter: having(field, word), boost } }));
    });
  }

  /** Adds the score to a query. */
  of({ bool }: FilterQuery): Query {
    return this.parts.length === 0
      ? { bool }
      : { bool: { ...bool, should: [...this.parts], minimum_should_match: 0 } };
  }

  /** The documents with this score, if there is only one count. */
  equalTo(score: number): Query {
    const atLeast = (count: number): Query => ({
      bool: { should: [...this.parts], minimum_should_match: count },
    });
    return {
      bool: {
        ...(score > 0 ? { filter: atLeast(score) } : {}),
        ...(score < this.parts.length ? { must_not: atLeast(score + 1) } : {}),
      },
    };
  }

  scoreOf(counts: readonly number[]): number {
    return this.weights.reduce((sum, weight, at) => sum + weight * (counts[at] ?? 0), 0);
  }

  counts(score: number): number[] {
    let rest = score;
    return this.weights.map((weight) => {
      const count = Math.floor(rest / weight);
      rest -= count * weight;
      return count;
    });
  }
}
