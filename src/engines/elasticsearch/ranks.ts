import { type estypes } from '@elastic/elasticsearch';
import { type Order, type Page, type Cursor } from '../../kernel/query';
import { shuffler } from '../../kernel/shuffle';
import { ID, type Kept, type Layout, property } from './layout';
import { type Query, type queryOf } from './query';
import { Score } from './score';
import { type Paged, type Snapshot } from './snapshot';

/** What a document is compared by: its values of the sort keys, and its id as bytes. */
export interface Rank {
  readonly keys: readonly (number | undefined)[];
  readonly id: Buffer;
}

/** A document that matches, with its values of some sort keys. */
export interface Ranked<Source> extends Rank {
  readonly group: string;
  readonly source: Source;
}

/** Documents read at once: only their sort keys, or whole ones. */
const PAGE = { keys: 10_000, whole: 500 } as const;

/**
 * Everything that matches, in no order, with the sort keys asked for: for orders that the server does not know.
 * `group` is what the documents are grouped by.
 */
export class Ranks {
  private readonly score: Score;
  private readonly fields: readonly string[];
  /** What a document is compared by, given its value of the field. */
  private readonly places: readonly ((value: number) => number)[];

  constructor(
    private readonly order: readonly Order[],
    layout: Layout,
    private readonly group?: string,
  ) {
    this.score = new Score(
      order.filter((key) => 'matches' in key),
      layout,
    );
    this.places = order.map((key) => ('shuffled' in key ? shuffler(key.seed) : (value: number) => value));
    const sorted = order.flatMap((key) => {
      const name = fieldOf(key);
      return name === undefined ? [] : layout.field(name, 'number').name;
    });
    this.fields = [...new Set([...sorted, ...(group === undefined ? [] : [group])])].map(property);
  }

  /** Without the documents themselves. */
  keys(snapshot: Snapshot, query: ReturnType<typeof queryOf>): AsyncIterable<Ranked<undefined>> {
    return this.all<undefined>(snapshot, query, { _source: false, stored_fields: '_none_', size: PAGE.keys });
  }

  whole(snapshot: Snapshot, query: ReturnType<typeof queryOf>): AsyncIterable<Ranked<Kept>> {
    return this.all<Kept>(snapshot, query, { size: PAGE.whole });
  }

  private async *all<Source extends Kept | undefined>(
    snapshot: Snapshot,
    query: ReturnType<typeof queryOf>,
    options: Pick<Paged, '_source' | 'stored_fields' | 'size'>,
  ): AsyncGenerator<Ranked<Source>> {
    const pages = snapshot.pages<Source>({
      ...options,
      query: this.score.of(query) satisfies Query,
      sort: [{ _shard_doc: 'asc' }],
      track_scores: this.score.parts.length > 0,
      docvalue_fields: [ID, ...this.fields],
    });
    for await (const hits of pages) for (const hit of hits) yield this.ranked(hit);
  }

  private ranked<Source>(hit: estypes.SearchHit<Source>): Ranked<Source> {
    const counts = this.score.counts(hit._score ?? 0);
    const value = (name: string): unknown => (hit.fields?.[name] as readonly unknown[] | undefined)?.[0];
    return {
      keys: this.order.map((key, at) => {
        const name = fieldOf(key);
        const of = name === undefined ? counts.shift() : value(property(name));
        return typeof of === 'number' ? this.places[at]?.(of) : undefined;
      }),
      id: Buffer.from(String(value(ID))),
      group: this.group === undefined ? '' : String(value(property(this.group))),
      source: hit._source as Source,
    };
  }
}

/** The field that a sort key looks at, but for counts of words. */
function fieldOf(key: Order): string | undefined {
  if ('matches' in key) return undefined;
  return 'field' in key ? key.field : key.shuffled;
}

/** Items that are held beyond those of a page before the last ones are let go: to sort for each would cost more. */
const SLACK = 10_000;

/** What is on a page of all that there are, told in any order, and where the next one begins if that is asked for. */
export class PageOf<Item> {
  private held: Item[] = [];
  private readonly after: Rank | undefined;
  /** How many of the first ones matter. */
  private readonly most: number;

  constructor(
    private readonly wanted: Page,
    private readonly compare: (a: Rank, b: Rank) => number,
    private readonly rankOf: (item: Item) => Rank,
  ) {
    const { offset, size, after } = wanted;
    this.most = after === undefined ? offset + size : size + 1;
    if (after !== undefined && after !== null)
      this.after = { keys: after.keys.map((key) => key ?? undefined), id: Buffer.from(after.id) };
  }

  add(item: Item): void {
    if (this.after !== undefined && this.compare(this.rankOf(item), this.after) <= 0) return;
    this.held.push(item);
    if (this.held.length > 2 * this.most + SLACK) this.held = this.foremost();
  }

  end(): { readonly page: readonly Item[]; readonly next: Cursor | undefined } {
    const { offset, size, after } = this.wanted;
    const foremost = this.foremost();
    if (after === undefined) return { page: foremost.slice(offset), next: undefined };
    const page = foremost.slice(0, size);
    const last = foremost.length > size ? page.at(-1) : undefined;
    if (last === undefined) return { page, next: undefined };
    const { keys, id } = this.rankOf(last);
    return { page, next: { keys: keys.map((key) => key ?? null), id: id.toString() } };
  }

  private foremost(): Item[] {
    return this.held.sort((a, b) => this.compare(this.rankOf(a), this.rankOf(b))).slice(0, this.most);
  }
}

/** Compares in an order: no value comes last either way, ties go by id, byte by byte. */
export function compareRanks(order: readonly Order[]): (a: Rank, b: Rank) => number {
  return (a, b) => compareKeys(order, a.keys, b.keys) || a.id.compare(b.id);
}

function compareKeys(
  order: readonly Order[],
  a: readonly (number | undefined)[],
  b: readonly (number | undefined)[],
): number {
  for (const [at, { descending = false }] of order.entries()) {
    const [left, right] = [a[at], b[at]];
    if (left === right) continue;
    if (left === undefined) return 1;
    if (right === undefined) return -1;
    return descending ? right - left : left - right;
  }
  return 0;
}
