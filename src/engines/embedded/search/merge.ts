import { decode, SPAN } from './containers';
import { type OrdinalSet, setOf } from './sets';
import { MAX_INLINE } from './blocks';
import { dictionaryNames, type DictionaryReader, DictionaryWriter } from './dictionary';
import { DECODED } from './matches';
import { type Schema, type Segment, writeSegment, writeSegmentNumbers } from './segment';
import { type BlobWriter } from './storage';
import { Heap, sortedBy } from './sorting';

/** A segment to merge, without its deleted documents. It reads without the cache. */
interface MergedSegment {
  readonly segment: Segment;
  readonly deleted: OrdinalSet;
  /** Other numbers of some documents, by column and ordinal. */
  readonly changed?: ReadonlyMap<string, ReadonlyMap<number, number>>;
}

/** A value for documents that are left out. */
const NOWHERE = 0xffff_ffff;

/**
 * Merges segments into a new one, in steps of some milliseconds. The documents of all sources are numbered through:
 * those of a source start at its `base`. Memory: some 30 bytes per document.
 */
export class SegmentMerge {
  /** The documents of the new segment. */
  readonly docs: number;
  private readonly bases: readonly number[];
  private readonly total: number;
  /** The ordinal of each document in the new segment, or `NOWHERE`. */
  private readonly moved: Uint32Array;

  constructor(
    private readonly blobs: BlobWriter,
    private readonly schema: Schema,
    private readonly sources: readonly MergedSegment[],
    private readonly target: number,
  ) {
    const bases: number[] = [];
    let total = 0;
    let deleted = 0;
    for (const source of sources) {
      bases.push(total);
      total += source.segment.docs;
      deleted += source.deleted.count;
    }
    this.bases = bases;
    this.total = total;
    this.docs = total - deleted;
    this.moved = new Uint32Array(total).fill(NOWHERE);
  }

  /** Writes the new segment. */
  *steps(): Generator<undefined> {
    yield* writeSegment(this.blobs, this.target, this.docs, (into) => this.write(into));
  }

  private *write(blobs: BlobWriter): Generator<undefined> {
    const { schema, target } = this;
    const byId = yield* this.documentsById();
    yield* this.order(byId);
    const ranks = new Uint32Array(this.docs);
    for (let rank = 0; rank < ranks.length; rank += 1) ranks[this.moved[byId[rank] ?? 0] ?? 0] = rank;
    yield* this.writeIds(blobs, byId);
    yield* this.writeTerms(blobs);
    yield* writeSegmentNumbers(blobs, target, schema, {
      rows: this.gather((segment) => segment.rows),
      ranks,
      valuesOf: (column) => this.gather((segment) => segment.column(column), column),
    });
  }

  /** Which documents of the new segment these of a source are. */
  movedSet(source: number, ordinals: OrdinalSet): OrdinalSet {
    return setOf(this.docs, this.newOrdinals(ordinalsOf(ordinals), source).sort());
  }

  private *documentsById(): Generator<undefined, Uint32Array> {
    const documents = new Uint32Array(this.docs);
    const ids = new MergedTokens(this.sources.map(({ segment }) => started(segment.ids.all())));
    let count = 0;
    for (let work = 1; ids.next(); work += 1) {
      for (const { source, reader } of ids.equal) {
        const ordinal = ordinalOfId(reader);
        if (this.sources[source]?.deleted.has(ordinal) === true) continue;
        documents[count] = (this.bases[source] ?? 0) + ordinal;
        count += 1;
      }
      if (work % STEP === 0) yield;
    }
    return documents;
  }

  /** Finds the new ordinals. */
  private *order(byId: Uint32Array): Generator<undefined> {
    const { column, descending } = this.schema.defaultOrder ?? {};
    const values = new Float64Array(this.total).fill(NaN);
    if (column !== undefined)
      for (const [at, { segment }] of this.sources.entries()) {
        const base = this.bases[at] ?? 0;
        const numbers = segment.column(column);
        for (let ordinal = 0; ordinal < segment.docs; ordinal += 1)
          values[base + ordinal] = numbers.get(ordinal);
        yield;
      }
    const inOrder = sortedBy(byId, values, descending);
    for (let ordinal = 0; ordinal < inOrder.length; ordinal += 1) this.moved[inOrder[ordinal] ?? 0] = ordinal;
    yield;
  }

  private *writeIds(blobs: BlobWriter, byId: Uint32Array): Generator<undefined> {
    const writer = new DictionaryWriter(blobs, dictionaryNames(this.target, 'ids'), this.docs);
    const readers = this.sources.map(({ segment }) => segment.ids.all());
    const sourceOf = new Uint8Array(this.total);
    for (const [source, base] of this.bases.entries()) sourceOf.fill(source, base);
    for (let at = 0; at < byId.length; at += 1) {
      const document = byId[at] ?? 0;
      const source = sourceOf[document] ?? 0;
      const reader = readers[source];
      const ordinal = document - (this.bases[source] ?? 0);
      // Deleted documents are skipped.
      while (reader?.next() === true) if (ordinalOfId(reader) === ordinal) break;
      reader?.addTo(writer);
      writer.ordinal(this.moved[document] ?? NOWHERE);
      if (at % STEP === STEP - 1) yield;
    }
    writer.finish();
  }

  private *writeTerms(blobs: BlobWriter): Generator<undefined> {
    const writer = new DictionaryWriter(blobs, dictionaryNames(this.target, 'terms'), this.docs);
    const terms = new MergedTokens(this.sources.map(({ segment }) => started(segment.terms.all())));
    const gathered = new Uint32Array(this.docs);
    const bits = new Int32Array(Math.ceil(this.docs / 32));
    let work = 0;
    while (terms.next()) {
      let count = 0;
      for (const { source, reader } of terms.equal) {
        const base = this.bases[source] ?? 0;
        let ordinals: Uint32Array = FEW;
        let length = reader.few(FEW);
        if (length === 0) {
          const { terms: dictionary } = this.sources[source]?.segment ?? {};
          ordinals = dictionary === undefined ? FEW : ordinalsOf(dictionary.setOnce(reader.entry()));
          ({ length } = ordinals);
        }
        for (let at = 0; at < length; at += 1) {
          const ordinal = this.moved[base + (ordinals[at] ?? 0)] ?? NOWHERE;
          if (ordinal !== NOWHERE) gathered[count++] = ordinal;
        }
      }
      if (count === 0) continue;
      // The documents of one source keep their order.
      if (terms.equal.length > 1) sortFirst(gathered, count, bits);
      terms.addTo(writer);
      writer.ordinals(gathered, 0, count);
      work += count + 20;
      if (work < STEP * 20) continue;
      work = 0;
      yield;
    }
    writer.finish();
  }

  /** Numbers of all documents in the new order. Sources are read from start to end. */
  private gather(
    numbersOf: (segment: Segment) => { get(ordinal: number): number },
    column = '',
  ): Float64Array {
    const values = new Float64Array(this.docs);
    for (const [at, { segment, changed }] of this.sources.entries()) {
      const numbers = numbersOf(segment);
      const others = changed?.get(column);
      const base = this.bases[at] ?? 0;
      for (let ordinal = 0; ordinal < segment.docs; ordinal += 1) {
        const to = this.moved[base + ordinal] ?? NOWHERE;
        if (to !== NOWHERE) values[to] = others?.get(ordinal) ?? numbers.get(ordinal);
      }
    }
    return values;
  }

  /** The new ordinals of documents of a source, without those left out. */
  private newOrdinals(ordinals: ArrayLike<number>, source: number): Uint32Array {
    const base = this.bases[source] ?? 0;
    const found = new Uint32Array(ordinals.length);
    let count = 0;
    for (let at = 0; at < ordinals.length; at += 1) {
      const ordinal = this.moved[base + (ordinals[at] ?? 0)] ?? NOWHERE;
      if (ordinal !== NOWHERE) found[count++] = ordinal;
    }
    return found.subarray(0, count);
  }
}

/** Tokens per step. */
const STEP = 4_096;

function ordinalsOf(set: OrdinalSet): Uint32Array {
  const ordinals = new Uint32Array(set.count);
  let count = 0;
  for (const [span, container] of set.containers.entries()) {
    const decoded = decode(container, span * SPAN, DECODED);
    for (let at = 0; at < decoded; at += 1) ordinals[count++] = DECODED[at] ?? 0;
  }
  return ordinals;
}

/** From so many numbers on, others sort faster than by insertion. */
const MANY = 24;

function insertionSort(numbers: Uint32Array, count: number): void {
  for (let at = 1; at < count; at += 1) {
    const number = numbers[at] ?? 0;
    let to = at;
    for (; to > 0; to -= 1) {
      const above = numbers[to - 1] ?? 0;
      if (above <= number) break;
      numbers[to] = above;
    }
    numbers[to] = number;
  }
}

/** Sorts the first `count` of distinct numbers. `bits`, all clear, has room for each of them. */
function sortFirst(numbers: Uint32Array, count: number, bits: Int32Array): void {
  if (count < MANY && count < bits.length / 4) {
    insertionSort(numbers, count);
    return;
  }
  if (count < bits.length / 16) {
    numbers.subarray(0, count).sort();
    return;
  }
  for (let at = 0; at < count; at += 1) {
    const number = numbers[at] ?? 0;
    bits[number >>> 5] = (bits[number >>> 5] ?? 0) | (1 << (number & 31));
  }
  let at = 0;
  for (let index = 0; index < bits.length; index += 1) {
    let word = bits[index] ?? 0;
    while (word !== 0) {
      const lowest = word & -word;
      numbers[at++] = index * 32 + 31 - Math.clz32(lowest);
      word ^= lowest;
    }
    bits[index] = 0;
  }
}

/** A reader at its first token; undefined if there is none. */
function started(reader: DictionaryReader): DictionaryReader | undefined {
  return reader.next() ? reader : undefined;
}

/** The few ordinals of a token (`DictionaryReader.few`). */
const FEW = new Uint32Array(MAX_INLINE);

/** The ordinal of the id that a reader is at. */
function ordinalOfId(reader: DictionaryReader): number {
  return reader.few(FEW) === 0 ? NOWHERE : (FEW[0] ?? NOWHERE);
}

interface SourceReader {
  readonly source: number;
  readonly reader: DictionaryReader;
}

/** The tokens of several dictionaries in order. */
export class MergedTokens {
  /** The readers that are at the current token, in the order of the sources. */
  readonly equal: SourceReader[] = [];
  /** The others. */
  private readonly heap = new Heap<SourceReader>(compareSources);

  /** `readers`: of each source, at the first of its tokens, which is not read yet; undefined if it has none. */
  constructor(readers: readonly (DictionaryReader | undefined)[]) {
    for (const [source, reader] of readers.entries())
      if (reader !== undefined) this.heap.add({ source, reader });
  }

  /** Goes to the next token; false after the last one. */
  next(): boolean {
    const { equal, heap } = this;
    const first = this.first();
    // Setting its length takes longer.
    while (equal.length > 0) equal.pop();
    if (first === undefined) return false;
    equal.push(first);
    for (let least = heap.least; least?.reader.compare(first.reader) === 0; least = heap.least) {
      equal.push(least);
      heap.removeLeast();
    }
    return true;
  }

  addTo(writer: DictionaryWriter): void {
    this.equal[0]?.reader.addTo(writer);
  }

  /** Takes the reader with the next token out of the heap, after the current ones have moved on. */
  private first(): SourceReader | undefined {
    const { equal, heap } = this;
    const [only] = equal;
    if (equal.length !== 1 || only === undefined) {
      for (const one of equal) if (one.reader.next()) heap.add(one);
      return heap.removeLeast();
    }
    if (!only.reader.next()) return heap.removeLeast();
    // Most tokens are in one source only.
    const { least } = heap;
    if (least === undefined || compareSources(only, least) < 0) return only;
    heap.replaceLeast(only);
    return least;
  }
}

function compareSources(a: SourceReader, b: SourceReader): number {
  return a.reader.compare(b.reader) || a.source - b.source;
}
