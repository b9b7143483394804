import { bytesOf, textOf } from './bytes';
import { decode, SPAN } from './containers';
import { MAX_INLINE } from './blocks';
import { type Dictionary } from './dictionary';
import { FirstItems } from './sorting';
import { DECODED, everyFew, type Matches } from './matches';
import { type Count, type IndexFacet } from './query';
import { type Segment } from './segment';
import { bitmapOf, countSetIn, difference, everything, type OrdinalSet } from './sets';

/** What counts documents one by one. */
interface OrdinalCounter {
  /** Counts the first so many ordinals of `DECODED`. */
  readonly count: (decoded: number) => void;
  readonly end: () => void;
}

/** The matches of one segment in the forms that they are counted by. */
export class CountedMatches {
  private readonly counters: OrdinalCounter[] = [];
  private bits: Int32Array | undefined;
  private made: { readonly set: OrdinalSet; readonly isOthers: boolean } | undefined;

  constructor(
    readonly matches: Matches,
    readonly check: () => void,
  ) {}

  get segment(): Segment {
    return this.matches.segment;
  }

  get isAll(): boolean {
    return this.matches.count === this.segment.docs;
  }

  get bitmap(): Int32Array {
    this.bits ??= bitmapOf(this.matches.set);
    return this.bits;
  }

  /** The matches, or all others if these are fewer: then what is counted is subtracted from what all documents have. */
  get fewer(): { readonly set: OrdinalSet; readonly isOthers: boolean } {
    const { set, count } = this.matches;
    const { docs } = this.segment;
    const isOthers = count * 2 > docs;
    this.made ??= { set: isOthers ? difference(everything(docs), set) : set, isOthers };
    return this.made;
  }

  /** Has `fewer` counted by `count`. */
  add(counter: OrdinalCounter): void {
    this.counters.push(counter);
  }

  /** Decodes `fewer` once, for all that were added. */
  count(): void {
    if (this.counters.length === 0) return;
    for (const [span, container] of this.fewer.set.containers.entries()) {
      this.check();
      const decoded = decode(container, span * SPAN, DECODED);
      if (decoded > 0) for (const { count } of this.counters) count(decoded);
    }
    for (const { end } of this.counters) end();
  }

  countOf(set: OrdinalSet): number {
    return this.isAll ? set.count : countSetIn(this.bitmap, set);
  }
}

/** Tokens have up to 256 ordinals each, or a list to be read. */
export const CHECKED = 128;

export const CONTROL = /[\u0000-\u001f]/;

/**
 * The tokens of a segment that start with a text, by document: most documents have one at most. A label is the position
 * of a token among these, from 1.
 */
export interface TokenLabels {
  /** The position of the first token in the dictionary. */
  readonly start: number;
  /** By label, how many documents have the token; 0 for one with control characters. */
  readonly totals: Uint32Array;
  /** By ordinal, the label of the first token; 0 is none. */
  readonly first: Uint16Array;
  /** Documents with further tokens, and the labels of these. */
  readonly others: { readonly ordinals: Uint32Array; readonly labels: Uint16Array };
  /** Tokens by label, some of those that were read. */
  readonly tokens: Map<number, string>;
}

/** Labels are 16-bit numbers. */
const MOST_LABELS = 0xffff;
/** With labels for fewer than one in so many documents, or further ones for more, lists are counted as fast. */
const FEW_LABELS = 4;

/** Cached; undefined if lists are better, or the cache is too small. */
export function labelsOf({ segment, check }: CountedMatches, startingWith: string): TokenLabels | undefined {
  return segment.derived(`labels/${startingWith}`, segment.docs * Uint16Array.BYTES_PER_ELEMENT, () => {
    const labels = madeLabels(segment, startingWith, check);
    if (labels === undefined) return { value: undefined, bytes: 0 };
    const { first, totals, others } = labels;
    const bytes =
      first.byteLength + totals.byteLength + others.ordinals.byteLength + others.labels.byteLength;
    return { value: labels, bytes };
  });
}

function madeLabels(
  { terms, docs }: Segment,
  startingWith: string,
  check: () => void,
): TokenLabels | undefined {
  const prefix = bytesOf(startingWith);
  const reader = terms.from(prefix);
  if (reader === undefined) return undefined;
  const start = reader.at;
  const first = new Uint16Array(docs);
  const totals = [0];
  const others: { ordinals: number[]; labels: number[] } = { ordinals: [], labels: [] };
  const few = new Uint32Array(MAX_INLINE);
  const visit = everyFew(check, CHECKED);
  let sum = 0;
  const add = (ordinals: ArrayLike<number>, count: number, label: number): void => {
    for (let at = 0; at < count; at += 1) {
      const ordinal = ordinals[at] ?? 0;
      if (first[ordinal] === 0) first[ordinal] = label;
      else {
        others.ordinals.push(ordinal);
        others.labels.push(label);
      }
    }
    sum += count;
    totals[label] = (totals[label] ?? 0) + count;
  };
  for (let isMore = true; isMore && reader.startsWith(prefix); isMore = reader.next()) {
    visit();
    const label = totals.length;
    if (label > MOST_LABELS || others.ordinals.length * FEW_LABELS > docs) return undefined;
    totals.push(0);
    if (CONTROL.test(reader.binary())) continue;
    const own = reader.few(few);
    if (own > 0) add(few, own, label);
    else
      for (const [span, container] of terms.setOnce(reader.entry()).containers.entries())
        add(DECODED, decode(container, span * SPAN, DECODED), label);
  }
  if (sum * FEW_LABELS < docs) return undefined;
  return {
    start,
    totals: Uint32Array.from(totals),
    first,
    others: { ordinals: Uint32Array.from(others.ordinals), labels: Uint16Array.from(others.labels) },
    tokens: new Map(),
  };
}

/** By label, how many matching documents have the token: once they are counted. */
export function countLabels({ totals, first, others }: TokenLabels, counted: CountedMatches): Uint32Array {
  const { set, isOthers } = counted.fewer;
  const counts = new Uint32Array(totals.length);
  const end = (): void => {
    const { ordinals, labels } = others;
    const bitmap = ordinals.length === 0 ? undefined : isOthers ? bitmapOf(set) : counted.bitmap;
    if (bitmap !== undefined)
      for (let at = 0; at < ordinals.length; at += 1) {
        const ordinal = ordinals[at] ?? 0;
        const label = labels[at] ?? 0;
        const isIn = ((bitmap[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1;
        counts[label] = (counts[label] ?? 0) + isIn;
      }
    if (isOthers)
      for (let label = 1; label < counts.length; label += 1)
        counts[label] = (totals[label] ?? 0) - (counts[label] ?? 0);
  };
  counted.add({
    count: (decoded) => {
      countNumbers(counts, first, decoded);
    },
    end,
  });
  return counts;
}

/** Tokens that are not read again. */
const MOST_TOKENS = 500;

/** The tokens that most documents have. */
export function mostOf(
  terms: Dictionary,
  { start, tokens }: TokenLabels,
  counts: Uint32Array,
  { startingWith, size }: Extract<IndexFacet, { readonly startingWith: string }>,
): readonly Count[] {
  const countOf = (label: number): number => counts[label] ?? 0;
  const first = new FirstItems<number>(size, (a, b) => countOf(b) - countOf(a) || a - b);
  for (let label = 1; label < counts.length; label += 1)
    if (countOf(label) > (first.last === undefined ? 0 : countOf(first.last))) first.add(label);
  const labels = first.sorted();
  const unread = labels.filter((label) => !tokens.has(label)).sort((a, b) => a - b);
  if (tokens.size + unread.length > MOST_TOKENS) tokens.clear();
  const reader = unread.length === 0 ? undefined : terms.from(bytesOf(startingWith));
  for (const label of unread) {
    reader?.goTo(start + label - 1);
    if (reader !== undefined) tokens.set(label, textOf(reader.token));
  }
  return labels.map((label) => ({ value: tokens.get(label) ?? '', count: countOf(label) }));
}

/** Counts the labels of the first `count` ordinals that are decoded. */
function countNumbers(counts: Uint32Array, numbers: Uint16Array, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const number = numbers[DECODED[at] ?? 0] ?? 0;
    counts[number] = (counts[number] ?? 0) + 1;
  }
}
