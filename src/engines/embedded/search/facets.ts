import { bytesOf, textOf } from './bytes';
import { decode, SPAN } from './containers';
import { CHECKED, CONTROL, CountedMatches, countLabels, labelsOf, mostOf, type TokenLabels } from './labels';
import { countCommon, countFewIn, type OrdinalSet, overheadOf, union } from './sets';
import { MAX_INLINE } from './blocks';
import { type DictionaryReader } from './dictionary';
import { FirstItems } from './sorting';
import {
  DECODED,
  everyFew,
  firstPlace,
  firstWhere,
  type Matches,
  matchesOf,
  type Searched,
  setOfInterval,
  tokenSet,
} from './matches';
import { MergedTokens } from './merge';
import { type Count, type IndexFacet, type IndexFilter } from './query';
import { type Schema, type Segment, type StoredOrder } from './segment';
import { type Derived } from './storage';

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
    const counted = new CountedMatches(matches, check);
    for (const counter of counters) counter.add(counted);
    counted.count();
    if (near.length > 0) again.push(counted);
  }
  // Looking for other words takes far longer than for one: only once no segment has that.
  for (const counter of near) if (!counter.isFound()) for (const counted of again) counter.addOthers(counted);
  return counters.map((counter) => counter.counts());
}

type Tokens = Extract<IndexFacet, { readonly startingWith: string }>;
type Near = Extract<IndexFacet, { readonly near: string }>;
type Ranges = Extract<IndexFacet, { readonly column: string }>;

/** The matches of one segment, and how many have each token, if that is counted by labels. */
interface CountedTokens {
  readonly counted: CountedMatches;
  readonly labels?: TokenLabels;
  /** By label. */
  readonly counts?: Uint32Array;
  /** The label of the token that was read last. */
  label: number;
}

/**
 * Counts tokens by labels, or by their lists: those of all tokens of a field have about as many ordinals as there are
 * documents, however many tokens there are. Several segments are read together, in the order of the tokens: in memory
 * are only those of most documents so far.
 */
class TokenCounter {
  private readonly sources: CountedTokens[] = [];
  private readonly few = new Uint32Array(MAX_INLINE);

  constructor(private readonly wanted: Tokens) {}

  add(counted: CountedMatches): void {
    const labels = labelsOf(counted, this.wanted.startingWith);
    this.sources.push({
      counted,
      ...(labels === undefined ? {} : { labels, counts: countLabels(labels, counted) }),
      label: 0,
    });
  }

  counts(): readonly Count[] {
    const { sources } = this;
    const [only] = sources;
    if (sources.length === 1 && only?.labels !== undefined && only.counts !== undefined)
      return mostOf(only.counted.segment.terms, only.labels, only.counts, this.wanted);
    const prefix = bytesOf(this.wanted.startingWith);
    const tokens = new MergedTokens(sources.map(({ counted }) => counted.segment.terms.from(prefix)));
    const visits = sources.map(({ counted }) => everyFew(counted.check, CHECKED));
    const first = firstCounted(this.wanted.size);
    while (tokens.next() && tokens.equal[0]?.reader.startsWith(prefix) === true) {
      let count = 0;
      for (const { source, reader } of tokens.equal) {
        visits[source]?.();
        count += this.countIn(sources[source], reader);
      }
      // Among equal counts, those before come first.
      if (count === 0 || count <= (first.last?.[1] ?? 0)) continue;
      const token = tokens.equal[0].reader.binary();
      if (!CONTROL.test(token)) first.add([token, count]);
    }
    return countsOf(first);
  }

  /** How many matching documents of a segment have the token that its reader is at. */
  private countIn(one: CountedTokens | undefined, reader: DictionaryReader): number {
    if (one === undefined) return 0;
    one.label += 1;
    if (one.counts !== undefined) return one.counts[one.label] ?? 0;
    const { counted } = one;
    const own = reader.few(this.few);
    if (own > 0) return counted.isAll ? own : countFewIn(counted.bitmap, this.few, own);
    const entry = reader.entry();
    return counted.isAll ? entry.count : counted.countOf(counted.segment.terms.set(entry));
  }
}

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

  add(counted: CountedMatches): void {
    const { segment } = counted;
    const { near, after } = this.wanted;
    const itself = after.map((before) => tokenSet(segment, before + near)).filter(({ count }) => count > 0);
    if (itself.length > 0) this.own += counted.countOf(union(segment.docs, itself));
  }

  isFound(): boolean {
    return this.own > 0;
  }

  addOthers(counted: CountedMatches): void {
    const { segment } = counted;
    const { near, after } = this.wanted;
    const sets = new Map<string, OrdinalSet[]>();
    for (const before of after)
      for (const word of nearTokens(segment, before, near, counted.check)) {
        const set = tokenSet(segment, before + word);
        const others = sets.get(word);
        if (others === undefined) sets.set(word, [set]);
        else others.push(set);
      }
    for (const [word, own] of sets) {
      const count = counted.countOf(union(segment.docs, own));
      const key = Buffer.from(word).toString('latin1');
      if (count > 0) this.found.set(key, (this.found.get(key) ?? 0) + count);
    }
  }

  counts(): readonly Count[] {
    const { near, size } = this.wanted;
    return this.own > 0 ? [{ value: near, count: this.own }] : mostCounted(this.found, size);
  }
}

/** So many blocks of a dictionary are read faster than a word is looked up with each letter in one place. */
const FEW_BLOCKS = 8;

/**
 * The words one letter away from one, as tokens after `before`. Where the dictionary has many that begin as
 * the word does, those are looked up that differ in the next letter, by the letters that it has there; once
 * they are few, they are compared.
 */
function* nearTokens(
  segment: Segment,
  before: string,
  word: string,
  check: () => void,
): Generator<string, undefined> {
  const { terms } = segment;
  const letters = Array.from(word);
  const tried = new Set([word]);
  const part = (from: number, to?: number): string => letters.slice(from, to).join('');
  const visit = everyFew(check, CHECKED);
  let at = 0;
  for (; at <= letters.length && terms.blocksWith(bytesOf(before + part(0, at))) > FEW_BLOCKS; at += 1) {
    const start = part(0, at);
    const candidates = lettersAfter(segment, before + start, visit).flatMap((letter) => [
      start + letter + part(at),
      start + letter + part(at + 1),
    ]);
    candidates.push(start + part(at + 1), start + part(at + 1, at + 2) + part(at, at + 1) + part(at + 2));
    for (const candidate of candidates) {
      if (tried.has(candidate)) continue;
      tried.add(candidate);
      visit();
      if (terms.has(bytesOf(before + candidate))) yield candidate;
    }
  }
  if (at > letters.length) return;
  const skipped = bytesOf(before).length;
  const bytes = bytesOf(word);
  const prefix = bytesOf(before + part(0, at));
  const reader = terms.tokensFrom(prefix);
  for (let isMore = reader !== undefined; reader !== undefined && isMore; isMore = reader.next()) {
    if (!reader.startsWith(prefix)) return;
    visit();
    if (!mayBeOneAway(bytes, reader, skipped)) continue;
    const other = textOf(reader.token.subarray(skipped));
    if (tried.has(other) || !isOneAway(letters, Array.from(other))) continue;
    yield other;
  }
}

/** Cached: those that words begin with are needed for each of them. */
function lettersAfter(segment: Segment, beginning: string, visit: () => void): readonly string[] {
  const found = (): Derived<readonly string[]> => {
    const value = segment.terms.lettersAfter(bytesOf(beginning), visit);
    return { value, bytes: value.length * LETTER_BYTES };
  };
  return segment.derived(`letters/${beginning}`, 256 * LETTER_BYTES, found) ?? found().value;
}

/** Of memory, about. */
const LETTER_BYTES = 32;

/** Of two letters in UTF-8. */
const MOST_BYTES = 8;

/**
 * Whether a word and a token from a byte on may be one letter away: they have the same bytes but for two letters
 * between their beginnings and their ends. Most tokens do not, which is found out without making a text of them.
 */
function mayBeOneAway(
  word: Uint8Array,
  { bytes, length: to }: Pick<DictionaryReader, 'bytes' | 'length'>,
  from: number,
): boolean {
  const length = to - from;
  const shorter = Math.min(word.length, length);
  let start = 0;
  while (start < shorter && word[start] === bytes[from + start]) start += 1;
  const rest = shorter - start;
  let end = 0;
  while (end < rest && word[word.length - 1 - end] === bytes[to - 1 - end]) end += 1;
  return Math.max(word.length, length) - start - end <= MOST_BYTES;
}

/** Whether texts differ in one letter: a missing one, one too many, another one, or two that have changed places. */
function isOneAway(one: readonly string[], other: readonly string[]): boolean {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const isSame = (from: number, to: number): boolean => {
    if (one.length - from !== other.length - to) return false;
    for (let next = 0; from + next < one.length; next += 1)
      if (one[from + next] !== other[to + next]) return false;
    return true;
  };
  if (one.length !== other.length) return one.length > other.length ? isSame(at + 1, at) : isSame(at, at + 1);
  if (at === one.length) return false;
  return (
    isSame(at + 1, at + 1) ||
    (one[at] === other[at + 1] && one[at + 1] === other[at] && isSame(at + 2, at + 2))
  );
}

/** Counts a column's values by the ranges that they are in. */
class RangeCounter {
  private readonly found: number[];

  constructor(private readonly wanted: Ranges) {
    this.found = new Array<number>(wanted.bounds.length + 1).fill(0);
  }

  add(counted: CountedMatches): void {
    const { matches, segment, check } = counted;
    const order = segment.order(this.wanted.column);
    if (order === undefined) {
      this.addValues(matches, check);
      return;
    }
    const starts = this.startsIn(segment, order);
    const below = this.countBelow(counted, order, starts);
    if (below !== undefined) {
      for (let range = 0; range < this.found.length; range += 1)
        this.addTo(range, (below[range + 1] ?? 0) - (below[range] ?? 0));
      return;
    }
    // By position: looked up faster than values are compared.
    const byBlock = rangesByBlock(starts, segment.docs);
    const counts = new Uint32Array(starts.length);
    counted.add({
      count: (decoded) => {
        countPlaces(counts, starts, byBlock, order.places, decoded);
      },
      end: () => {
        for (let range = 0; range < this.found.length; range += 1) {
          const own = counts[range] ?? 0;
          const all = (starts[range + 1] ?? 0) - (starts[range] ?? 0);
          this.addTo(range, counted.fewer.isOthers ? all - own : own);
        }
      },
    });
  }

  private addTo(range: number, count: number): void {
    this.found[range] = (this.found[range] ?? 0) + count;
  }

  /**
   * How many matches are before each of some positions: by the sets of all documents before them, which are cached, as
   * the same bounds are asked for again and again. Undefined if visiting the matches is faster, or there is no room.
   */
  private countBelow(
    { matches, segment }: CountedMatches,
    order: StoredOrder,
    starts: readonly number[],
  ): readonly number[] | undefined {
    const { docs } = segment;
    const visited = Math.min(matches.count, docs - matches.count);
    if (starts.length > FEW_STARTS || visited * FEW_VISITED < docs) return undefined;
    const counts: number[] = [];
    for (const start of starts) {
      if (start === 0 || start === docs) {
        counts.push(start === 0 ? 0 : matches.count);
        continue;
      }
      const name = `before/${this.wanted.column}/${start}`;
      const before = segment.derived(name, docs / 8, () => {
        const value = setOfInterval({ order, low: 0, high: start });
        return { value, bytes: docs / 8 + overheadOf(value) };
      });
      if (before === undefined) return undefined;
      counts.push(countCommon(matches.set, before));
    }
    return counts;
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
  private startsIn(segment: Segment, order: StoredOrder): readonly number[] {
    const { column, bounds } = this.wanted;
    const numbers = segment.column(column);
    const starts = bounds.map((bound) => firstPlace(order, numbers, (value) => value >= bound));
    return [0, ...starts, order.present];
  }
}

/** More positions are not looked for in sets, nor if fewer than one in so many documents is to be visited. */
const FEW_STARTS = 10;
const FEW_VISITED = 32;

/** Positions are looked up by blocks of 64, which takes little memory. */
const BLOCK_BITS = 6;
/** A block with positions of several ranges. Ranges are fewer. */
const MIXED = 255;

function rangesByBlock(starts: readonly number[], docs: number): Uint8Array {
  const byBlock = new Uint8Array((docs >>> BLOCK_BITS) + 1);
  for (const [range, start] of starts.entries()) byBlock.fill(range, start >>> BLOCK_BITS);
  for (const start of starts)
    if ((start & ((1 << BLOCK_BITS) - 1)) !== 0) byBlock[start >>> BLOCK_BITS] = MIXED;
  return byBlock;
}

/** Counts the ranges of the first `count` ordinals that are decoded. */
function countPlaces(
  counts: Uint32Array,
  starts: readonly number[],
  byBlock: Uint8Array,
  places: Uint32Array,
  count: number,
): void {
  for (let at = 0; at < count; at += 1) {
    const place = places[DECODED[at] ?? 0] ?? 0;
    let range = byBlock[place >>> BLOCK_BITS] ?? 0;
    if (range === MIXED) range = firstWhere(starts.length, (next) => (starts[next] ?? 0) > place) - 1;
    counts[range] = (counts[range] ?? 0) + 1;
  }
}
