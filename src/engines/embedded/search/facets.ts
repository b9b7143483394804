import { bytesOf } from './bytes';
import { bitmapOf, countFewIn, countSetIn, decode, SPAN } from './containers';
import { MAX_INLINE } from './dictionary';
import { FirstItems } from './heap';
import { DECODED, everyFew, firstWhere, type Matches, matchesOf, type Searched } from './matches';
import { type Count, type Facet, type Filter } from './query';
import { type Schema } from './segment';

/** Counts values among the matching documents of all segments. */
export function countFacets(
  searched: readonly Searched[],
  schema: Schema,
  filter: Filter,
  facets: readonly Facet[],
  check: () => void,
): readonly (readonly Count[])[] {
  const counters = facets.map((facet) =>
    'column' in facet ? new RangeCounter(facet) : new TokenCounter(facet),
  );
  for (const one of searched) {
    const matches = matchesOf(one, schema, filter, check);
    if (matches.count === 0) continue;
    const bitmap = bitmapOf(matches.set);
    for (const counter of counters) counter.add({ matches, bitmap, check });
  }
  return counters.map((counter) => counter.counts());
}

/** The matches of one segment, also as a bitmap. */
interface Counted {
  readonly matches: Matches;
  readonly bitmap: Int32Array;
  readonly check: () => void;
}

type Tokens = Extract<Facet, { readonly startingWith: string }>;
type Ranges = Extract<Facet, { readonly column: string }>;

/**
 * Counts tokens by their lists: those of all tokens of a field have about as many ordinals as there are documents,
 * however many tokens there are.
 */
class TokenCounter {
  /** By the bytes of the token, each as a character. */
  private readonly found = new Map<string, number>();
  private readonly few = new Uint32Array(MAX_INLINE);

  constructor(private readonly wanted: Tokens) {}

  add({ matches, bitmap, check }: Counted): void {
    const { terms, docs } = matches.segment;
    const { found, few } = this;
    const isAll = matches.count === docs;
    const visit = everyFew(check, CHECKED);
    terms.startingWith(bytesOf(this.wanted.startingWith), (reader) => {
      visit();
      const own = reader.few(few);
      let count = isAll ? own : countFewIn(bitmap, few, own);
      if (own === 0) {
        const entry = reader.entry();
        count = isAll ? entry.count : countSetIn(bitmap, terms.set(entry));
      }
      if (count === 0) return;
      const token = reader.binary();
      found.set(token, (found.get(token) ?? 0) + count);
    });
  }

  counts(): readonly Count[] {
    const first = new FirstItems<readonly [token: string, count: number]>(
      this.wanted.size,
      (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1),
    );
    for (const counted of this.found) if (!CONTROL.test(counted[0])) first.add(counted);
    return first
      .sorted()
      .map(([token, count]) => ({ value: Buffer.from(token, 'latin1').toString(), count }));
  }
}

/** Tokens have up to 256 ordinals each, or a list to be read. */
const CHECKED = 128;

const CONTROL = /[\u0000-\u001f]/;

/** Counts a column's values by the ranges that they are in. */
class RangeCounter {
  private readonly found: number[];

  constructor(private readonly wanted: Ranges) {
    this.found = new Array<number>(wanted.bounds.length + 1).fill(0);
  }

  add({ matches, check }: Counted): void {
    const rangeOf = this.ranges(matches);
    const counts = new Uint32Array(this.found.length + 1);
    for (const [span, container] of matches.set.containers.entries()) {
      check();
      const decoded = decode(container, span * SPAN, DECODED);
      for (let at = 0; at < decoded; at += 1) {
        const range = rangeOf(DECODED[at] ?? 0);
        counts[range] = (counts[range] ?? 0) + 1;
      }
    }
    for (let range = 0; range < this.found.length; range += 1)
      this.found[range] = (this.found[range] ?? 0) + (counts[range] ?? 0);
  }

  counts(): readonly Count[] {
    return this.found.map((count, value) => ({ value, count }));
  }

  /** The range of a document's value; one more than the last for a document without a value. */
  private ranges({ segment }: Matches): (ordinal: number) => number {
    const { column, bounds } = this.wanted;
    const numbers = segment.column(column);
    const order = segment.order(column);
    const none = bounds.length + 1;
    if (order === undefined)
      return (ordinal) => {
        const value = numbers.get(ordinal);
        return Number.isNaN(value) ? none : firstWhere(bounds.length, (at) => (bounds[at] ?? 0) > value);
      };
    // By position: looked up faster than values are compared.
    const byPlace = new Uint8Array(segment.docs).fill(none, order.present);
    let from = 0;
    for (const [range, bound] of bounds.entries()) {
      const to = firstWhere(order.present, (place) => numbers.get(order.ordinals[place] ?? 0) >= bound);
      byPlace.fill(range, from, to);
      from = to;
    }
    byPlace.fill(bounds.length, from, order.present);
    return (ordinal) => byPlace[order.places[ordinal] ?? 0] ?? none;
  }
}
