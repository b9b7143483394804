import { bytesOf } from './bytes';
import { decode, SPAN } from './containers';
import { bitmapOf, countFewIn, countSetIn, difference, everything, type OrdinalSet, union } from './sets';
import { type Dictionary, type DictionaryReader, MAX_INLINE } from './dictionary';
import { FirstItems } from './heap';
import { DECODED, everyFew, firstWhere, type Matches, matchesOf, type Searched, tokenSet } from './matches';
import { MergedTokens } from './merge';
import { type Count, type IndexFacet, type IndexFilter } from './query';
import { type Schema, type Segment, type StoredOrder } from './segment';

/** Counts values among the matching documents of all segments. */
export function countFacets(
  searched: readonly Searched[],
  schema: Schema,
  filter: IndexFilter,
  facets: readonly IndexFacet[],
  check: () => void,
): readonly (readonly Count[])[] {
  const counters = facets.map((facet) => {
    if ('column' in facet) return new RangeCounter(facet);
    return 'near' in facet ? new NearCounter(facet) : new TokenCounter(facet);
  });
  const near = counters.filter((counter) => counter instanceof NearCounter);
  const again: CountedMatches[] = [];
  for (const one of searched) {
    const matches = matchesOf(one, schema, filter, check);
    if (matches.count === 0) continue;
    const counted = { matches, bitmap: bitmapOf(matches.set), check };
    for (const counter of counters) counter.add(counted);
    if (near.length > 0) again.push(counted);
  }
  // Looking for other words takes far longer than for one: only once no segment has that.
  for (const counter of near) if (!counter.isFound()) for (const counted of again) counter.addOthers(counted);
  return counters.map((counter) => counter.counts());
}

/** The matches of one segment, also as a bitmap. */
interface CountedMatches {
  readonly matches: Matches;
  readonly bitmap: Int32Array;
  readonly check: () => void;
}

type Tokens = Extract<IndexFacet, { readonly startingWith: string }>;
type Near = Extract<IndexFacet, { readonly near: string }>;
type Ranges = Extract<IndexFacet, { readonly column: string }>;

/**
 * Counts tokens by their lists: those of all tokens of a field have about as many ordinals as there are documents,
 * however many tokens there are. The segments are read together, in the order of the tokens: in memory are only those
 * of most documents so far.
 */
class TokenCounter {
  private readonly counted: CountedMatches[] = [];
  private readonly few = new Uint32Array(MAX_INLINE);

  constructor(private readonly wanted: Tokens) {}

  add(counted: CountedMatches): void {
    this.counted.push(counted);
  }

  counts(): readonly Count[] {
    const { counted } = this;
    const prefix = bytesOf(this.wanted.startingWith);
    const tokens = new MergedTokens(counted.map(({ matches }) => matches.segment.terms.from(prefix)));
    const visits = counted.map(({ check }) => everyFew(check, CHECKED));
    const first = firstCounted(this.wanted.size);
    while (tokens.next() && tokens.equal[0]?.reader.startsWith(prefix) === true) {
      let count = 0;
      for (const { source, reader } of tokens.equal) {
        visits[source]?.();
        count += this.countIn(counted[source], reader);
      }
      // Among equal counts, those before come first.
      if (count === 0 || count <= (first.last?.[1] ?? 0)) continue;
      const token = tokens.equal[0].reader.binary();
      if (!CONTROL.test(token)) first.add([token, count]);
    }
    return countsOf(first);
  }

  /** How many matching documents of a segment have the token that its reader is at. */
  private countIn(counted: CountedMatches | undefined, reader: DictionaryReader): number {
    if (counted === undefined) return 0;
    const { matches, bitmap } = counted;
    const { terms, docs } = matches.segment;
    const isAll = matches.count === docs;
    const own = reader.few(this.few);
    if (own > 0) return isAll ? own : countFewIn(bitmap, this.few, own);
    const entry = reader.entry();
    return isAll ? entry.count : countSetIn(bitmap, terms.set(entry));
  }
}

/** Tokens have up to 256 ordinals each, or a list to be read. */
const CHECKED = 128;

const CONTROL = /[\u0000-\u001f]/;

/** A token, each of its bytes as a character, and how many documents have it. */
type CountedToken = readonly [token: string, count: number];

/** Those of most documents. */
function firstCounted(size: number): FirstItems<CountedToken> {
  return new FirstItems<CountedToken>(size, (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function countsOf(first: FirstItems<CountedToken>): readonly Count[] {
  return first.sorted().map(([token, count]) => ({ value: Buffer.from(token, 'latin1').toString(), count }));
}

/** Those of most documents. `found`: by the bytes of the token, each as a character. */
function mostCounted(found: ReadonlyMap<string, number>, size: number): readonly Count[] {
  const first = firstCounted(size);
  for (const counted of found) if (!CONTROL.test(counted[0])) first.add(counted);
  return countsOf(first);
}

/** Counts a word, and the tokens near it if it is not found. */
class NearCounter {
  private readonly found = new Map<string, number>();
  /** Documents that have the word itself. */
  private own = 0;

  constructor(private readonly wanted: Near) {}

  add({ matches: { segment }, bitmap }: CountedMatches): void {
    const { near, after } = this.wanted;
    const itself = after.map((before) => tokenSet(segment, before + near));
    if (itself.some(({ count }) => count > 0)) this.own += countSetIn(bitmap, union(segment.docs, itself));
  }

  isFound(): boolean {
    return this.own > 0;
  }

  addOthers({ matches, bitmap, check }: CountedMatches): void {
    const { terms, docs } = matches.segment;
    const { near, after } = this.wanted;
    const sets = new Map<string, OrdinalSet[]>();
    for (const before of after)
      for (const [word, set] of nearTokens(terms, before, near, check)) {
        const others = sets.get(word);
        if (others === undefined) sets.set(word, [set]);
        else others.push(set);
      }
    for (const [word, own] of sets) {
      const count = countSetIn(bitmap, union(docs, own));
      const key = Buffer.from(word).toString('latin1');
      if (count > 0) this.found.set(key, (this.found.get(key) ?? 0) + count);
    }
  }

  counts(): readonly Count[] {
    const { near, size } = this.wanted;
    return this.own > 0 ? [{ value: near, count: this.own }] : mostCounted(this.found, size);
  }
}

/** The tokens one letter away from a word. The dictionary has the letters that follow a part of it. */
function* nearTokens(
  terms: Dictionary,
  before: string,
  word: string,
  check: () => void,
): Generator<[word: string, set: OrdinalSet], undefined> {
  const letters = Array.from(word);
  const tried = new Set([word]);
  const part = (from: number, to?: number): string => letters.slice(from, to).join('');
  const visit = everyFew(check, CHECKED);
  for (let at = 0; at <= letters.length; at += 1) {
    const start = part(0, at);
    const candidates = terms
      .lettersAfter(bytesOf(before + start), visit)
      .flatMap((letter) => [start + letter + part(at), start + letter + part(at + 1)]);
    candidates.push(start + part(at + 1), start + part(at + 1, at + 2) + part(at, at + 1) + part(at + 2));
    for (const candidate of candidates) {
      if (tried.has(candidate)) continue;
      tried.add(candidate);
      visit();
      const entry = terms.find(bytesOf(before + candidate));
      if (entry !== undefined) yield [candidate, terms.set(entry)];
    }
  }
}

/** Counts a column's values by the ranges that they are in. */
class RangeCounter {
  private readonly found: number[];

  constructor(private readonly wanted: Ranges) {
    this.found = new Array<number>(wanted.bounds.length + 1).fill(0);
  }

  add({ matches, check }: CountedMatches): void {
    const { segment, set, count } = matches;
    const order = segment.order(this.wanted.column);
    if (order === undefined) {
      this.addValues(matches, check);
      return;
    }
    // By position: looked up faster than values are compared.
    const starts = this.startsIn(segment, order);
    const byPlace = new Uint8Array(segment.docs);
    for (const [range, start] of starts.entries()) byPlace.fill(range, start, starts[range + 1]);
    const isMost = count * 2 > segment.docs;
    const counts = new Uint32Array(starts.length);
    const few = isMost ? difference(everything(segment.docs), set) : set;
    for (const [span, container] of few.containers.entries()) {
      check();
      countPlaces(counts, byPlace, order.places, DECODED, decode(container, span * SPAN, DECODED));
    }
    for (let range = 0; range < this.found.length; range += 1) {
      const own = counts[range] ?? 0;
      const all = (starts[range + 1] ?? 0) - (starts[range] ?? 0);
      this.found[range] = (this.found[range] ?? 0) + (isMost ? all - own : own);
    }
  }

  counts(): readonly Count[] {
    return this.found.map((count, value) => ({ value, count }));
  }

  private addValues({ segment, set }: Matches, check: () => void): void {
    const { column, bounds } = this.wanted;
    const numbers = segment.column(column);
    for (const [span, container] of set.containers.entries()) {
      check();
      const decoded = decode(container, span * SPAN, DECODED);
      for (let at = 0; at < decoded; at += 1) {
        const value = numbers.get(DECODED[at] ?? 0);
        if (Number.isNaN(value)) continue;
        const range = firstWhere(bounds.length, (bound) => (bounds[bound] ?? 0) > value);
        this.found[range] = (this.found[range] ?? 0) + 1;
      }
    }
  }

  /** The first position of each range, and of the documents without a value. */
  private startsIn(segment: Segment, { ordinals, present }: StoredOrder): readonly number[] {
    const { column, bounds } = this.wanted;
    const numbers = segment.column(column);
    const starts = bounds.map((bound) =>
      firstWhere(present, (place) => numbers.get(ordinals[place] ?? 0) >= bound),
    );
    return [0, ...starts, present];
  }
}

/** Counts the ranges of the first `count` ordinals. */
function countPlaces(
  counts: Uint32Array,
  byPlace: Uint8Array,
  places: Uint32Array,
  ordinals: Int32Array,
  count: number,
): void {
  for (let at = 0; at < count; at += 1) {
    const range = byPlace[places[ordinals[at] ?? 0] ?? 0] ?? 0;
    counts[range] = (counts[range] ?? 0) + 1;
  }
}
