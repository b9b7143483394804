import { bytesOf, sharedArray, sharedBitmap, textOf } from './bytes';
import { setBit, SPAN } from './containers';
import { decodeSet, emptySet, encodeSet, type OrdinalSet } from './sets';
import { Dictionary, dictionaryNames } from './dictionary';
import { SortedIds, writeTerms } from './postings';
import { sortedBy } from './sorting';
import {
  type BlobReader,
  type BlobWriter,
  BEYOND_32_BITS,
  type CheckedBlobs,
  type Derived,
  Numbers,
  PackReader,
  PackWriter,
  type SharedArrays,
  writeNumbers,
} from './storage';

/** What the documents of an index have. */
export interface Schema {
  /** The names of their numbers, by which they are filtered and sorted. */
  readonly columns: readonly string[];
  /** Documents have ordinals in this order; ties by id. By default they are ordered by id alone. */
  readonly defaultOrder?: { readonly column: string; readonly descending?: boolean };
  /** Columns by which results are often sorted, or filtered by range: their order is stored. */
  readonly orders: readonly string[];
  /**
   * Columns whose numbers, integers from 0, are the groups of documents: small ones, as their bitmap is in memory. A
   * document without one, or with a negative one, is a group of its own.
   */
  readonly groups: readonly string[];
  /**
   * The token that all documents of a partition have, by which they are found in segments that small partitions share.
   * By default each partition has segments of its own. Partitions are integers.
   */
  readonly partitionToken?: (partition: number) => string;
}

export interface IndexedDocument {
  /**
   * Distinct: within a partition, or, if small ones share segments, in all of them. Ties are
   * ordered by its bytes in UTF-8.
   */
  readonly id: string;
  /** The caller's number of the document, returned with results. */
  readonly row: number;
  /** Words and exact values in UTF-8, one per line: whatever documents are found by. */
  readonly tokens: Uint8Array;
  /** In the order of the columns; NaN is missing. */
  readonly numbers: ArrayLike<number>;
}

/** A column's order: missing values last, ties by id. */
export interface StoredOrder {
  /** The ordinals in order. */
  readonly ordinals: Uint32Array;
  /** The position of each ordinal. */
  readonly places: Uint32Array;
  /** How many documents have a value. */
  readonly present: number;
  /** The value of each 16th place that has one: values are in a blob each, as ordinals are in any order. */
  readonly samples: Float64Array;
}

/** Places per sample. */
export const SAMPLED = 16;

/** The caller's numbers of documents, by ordinal: each is `start` more. */
interface StoredRows {
  readonly start: number;
  /** Undefined if they differ too much. */
  readonly offsets: Uint32Array | undefined;
}

export interface StoredGroups {
  /** By ordinal: the number of the group plus one; 0 for a document alone. */
  readonly numbers: Uint32Array;
  /** The ordinals of documents in groups, by number, then ordinal. */
  readonly members: Uint32Array;
  /** The last of these numbers. */
  readonly greatest: number;
  /**
   * By ordinal, the next document of the group: the first one after the last, and the document itself if it is alone.
   */
  readonly next: Uint32Array;
  /** A bitmap of the numbers; undefined if that needs much memory. */
  readonly present: Int32Array | undefined;
  /** A bitmap of the documents that are not alone in the segment, how many they are, and how many groups these are. */
  readonly several: Int32Array;
  readonly docsOfSeveral: number;
  readonly ofSeveral: number;
}

interface Head {
  /** Per stored order, how many documents have a value. */
  readonly present: Readonly<Record<string, number>>;
  /** Per column of groups, how many documents are in groups. */
  readonly members: Readonly<Record<string, number>>;
}

/** The names of a segment's blobs. */
const names = {
  pack: (segment: number) => `${segment}/pack`,
  head: (segment: number) => `${segment}/head`,
  rows: (segment: number) => `${segment}/rows`,
  ranks: (segment: number) => `${segment}/ranks`,
  column: (segment: number, column: string) => `${segment}/column/${column}`,
  ordinals: (segment: number, column: string) => `${segment}/order/${column}`,
  members: (segment: number, column: string) => `${segment}/members/${column}`,
  deleted: (segment: number, version: number) => `${segment}/deleted/${version}/`,
};

/** An immutable part of the index. Its documents have ordinals from 0 in the default order. Raises `DamagedIndex`. */
export class Segment {
  readonly docs: number;
  readonly terms: Dictionary;
  /** Each id with its ordinal. */
  readonly ids: Dictionary;
  readonly rows: Numbers;
  /** The position of each ordinal among the sorted ids. */
  readonly ranks: Numbers;
  private readonly head: Head;
  private readonly reader: BlobReader;
  /** Those that threads share. */
  private readonly arrays: SharedArrays | undefined;
  private readonly columns = new Map<string, Numbers>();
  private readonly orders = new Map<string, StoredOrder>();
  private readonly groups = new Map<string, StoredGroups>();
  private allRows: StoredRows | undefined;

  /** `docs`: how many documents it has. `isCached`: reads go through the cache. */
  constructor(
    private readonly blobs: CheckedBlobs,
    readonly id: number,
    docs: number,
    private readonly schema: Schema,
    private readonly isCached = true,
  ) {
    const reader = docs > PACKED ? blobs : new PackReader(blobs, names.pack(id), isCached);
    this.reader = reader;
    this.arrays = isCached && docs > PACKED ? blobs.arrays : undefined;
    this.head = reader.readOnce(names.head(id), (bytes) => JSON.parse(textOf(bytes)) as Head);
    this.docs = docs;
    this.terms = new Dictionary(reader, dictionaryNames(id, 'terms'), docs);
    this.ids = new Dictionary(reader, dictionaryNames(id, 'ids'), docs);
    this.rows = this.numbers(names.rows(id));
    this.ranks = this.numbers(names.ranks(id));
  }

  column(name: string): Numbers {
    return stored(this.columns, name, () => this.numbers(names.column(this.id, name)));
  }

  /** The row of a document. Rows, but of small segments, are in memory from the first use on. */
  rowOf(ordinal: number): number {
    if (this.docs <= PACKED) return this.rows.get(ordinal);
    this.allRows ??= this.shared(names.rows(this.id), () => {
      const rows = this.numbers(names.rows(this.id), false);
      const first = Math.floor(rows.get(0) / BEYOND_32_BITS) * BEYOND_32_BITS;
      return { start: first, offsets: rows.wholeFrom(first) };
    });
    const { start, offsets } = this.allRows;
    return offsets === undefined ? this.rows.get(ordinal) : start + (offsets[ordinal] ?? NaN);
  }

  /** The stored order of a column; undefined if it has none. In memory from the first use on. */
  order(column: string): StoredOrder | undefined {
    if (!this.schema.orders.includes(column)) return undefined;
    return stored(this.orders, column, () =>
      this.shared(names.ordinals(this.id, column), () => {
        const ordinals = this.numbers(names.ordinals(this.id, column)).whole();
        const places = sharedArray(this.docs);
        for (let place = 0; place < this.docs; place += 1) places[ordinals[place] ?? 0] = place;
        const present = this.head.present[column] ?? 0;
        return { ordinals, places, present, samples: this.samplesOf(column, ordinals, present) };
      }),
    );
  }

  private samplesOf(column: string, ordinals: Uint32Array, present: number): Float64Array {
    const count = Math.ceil(present / SAMPLED);
    const samples = new Float64Array(new SharedArrayBuffer(count * Float64Array.BYTES_PER_ELEMENT));
    const wanted = new Uint32Array(this.docs);
    for (let sample = 0; sample < count; sample += 1) wanted[ordinals[sample * SAMPLED] ?? 0] = sample + 1;
    const numbers = this.numbers(names.column(this.id, column), false);
    for (let ordinal = 0; ordinal < this.docs; ordinal += 1) {
      const sample = wanted[ordinal] ?? 0;
      if (sample > 0) samples[sample - 1] = numbers.get(ordinal);
    }
    return samples;
  }

  /** The groups by a column. In memory from the first use on. */
  groupsOf(column: string): StoredGroups {
    return stored(this.groups, column, () =>
      this.shared(names.members(this.id, column), () => {
        const numbers = this.column(column).whole(1);
        const count = this.head.members[column] ?? 0;
        const name = names.members(this.id, column);
        const members = new Numbers(this.reader, name, count, this.isCached).whole();
        const greatest = numbers[members.at(-1) ?? 0] ?? 0;
        return { numbers, members, greatest, ...linksOf(numbers, members, greatest) };
      }),
    );
  }

  idOf(ordinal: number): string {
    return textOf(this.ids.tokenAt(this.ranks.get(ordinal)));
  }

  /** The ordinal of an id, deleted or not. */
  ordinalOf(id: string): number | undefined {
    return this.ids.find(bytesOf(id))?.few?.[0];
  }

  /** The deleted documents, as of a version: 0 is none. */
  deleted(version: number): OrdinalSet {
    return version === 0
      ? emptySet(this.docs)
      : this.blobs.readOnce(names.deleted(this.id, version), (bytes) => decodeSet(bytes, this.docs));
  }

  /** Replaces the deleted documents as of `version - 1`. */
  writeDeleted(version: number, deleted: OrdinalSet): void {
    this.blobs.write(names.deleted(this.id, version), encodeSet(deleted));
    if (version > 1) this.blobs.remove(names.deleted(this.id, version - 1));
  }

  /**
   * What is made of several blobs, with its bytes: cached, by a name. Undefined, and not made, if the cache has no room
   * for `most` bytes, or for small segments.
   */
  derived<Value>(name: string, most: number, make: () => Derived<Value>): Value | undefined {
    if (!this.isCached || this.docs <= PACKED) return undefined;
    return this.blobs.derived(`${this.id}/derived/${name}`, most, make);
  }

  /** Forgets what need not stay in memory between queries, and what may be shared better for the next one. */
  release(): void {
    for (const numbers of [this.rows, this.ranks, ...this.columns.values()]) numbers.release();
    if (this.arrays === undefined) return;
    this.orders.clear();
    this.groups.clear();
    this.allRows = undefined;
  }

  private numbers(name: string, isCached = this.isCached): Numbers {
    return new Numbers(this.reader, name, this.docs, isCached);
  }

  private shared<Arrays extends object>(name: string, make: () => Arrays): Arrays {
    return this.arrays === undefined ? make() : this.arrays.get(name, make);
  }
}

/** Numbers of groups of one segment are about as few as its documents, unless other segments have most of them. */
const MOST_NUMBERS = 8;

function linksOf(
  numbers: Uint32Array,
  members: Uint32Array,
  greatest: number,
): Pick<StoredGroups, 'next' | 'present' | 'several' | 'docsOfSeveral' | 'ofSeveral'> {
  const next = sharedArray(numbers.length);
  for (let ordinal = 0; ordinal < next.length; ordinal += 1) next[ordinal] = ordinal;
  const several = sharedBitmap(Math.ceil(numbers.length / SPAN) * SPAN);
  const present = greatest <= numbers.length * MOST_NUMBERS ? sharedBitmap(greatest + 1) : undefined;
  let docsOfSeveral = 0;
  let ofSeveral = 0;
  for (let at = 0; at < members.length;) {
    const start = at;
    const first = members[at] ?? 0;
    const number = numbers[first] ?? 0;
    let last = first;
    for (at += 1; at < members.length && numbers[members[at] ?? 0] === number; at += 1) {
      next[last] = members[at] ?? 0;
      last = members[at] ?? 0;
      setBit(several, last);
    }
    if (present !== undefined) setBit(present, number);
    if (last === first) continue;
    next[last] = first;
    setBit(several, first);
    docsOfSeveral += at - start;
    ofSeveral += 1;
  }
  return { next, present, several, docsOfSeveral, ofSeveral };
}

function stored<Value>(map: Map<string, Value>, name: string, make: () => Value): Value {
  let value = map.get(name);
  if (value === undefined) {
    value = make();
    map.set(name, value);
  }
  return value;
}

// Writing -----------------------------------------------------------------------------------------------------

/** Everything about a segment's documents but their tokens and ids, by ordinal. */
interface SegmentNumbers {
  readonly rows: Float64Array;
  readonly ranks: Uint32Array;
  /** NaN is missing. */
  readonly valuesOf: (column: string) => Float64Array;
}

/** The blobs of segments of at most so many documents are one: reading and writing each costs more than its bytes. */
const PACKED = 1_024;

/** Writes the blobs of a segment, in steps. */
export function* writeSegment(
  blobs: BlobWriter,
  segment: number,
  docs: number,
  write: (into: BlobWriter) => Generator<undefined>,
): Generator<undefined> {
  if (docs > PACKED) {
    yield* write(blobs);
    return;
  }
  const pack = new PackWriter();
  yield* write(pack);
  pack.finish(blobs, names.pack(segment));
}

/** Writes columns, orders, groups and the head, in steps. */
export function* writeSegmentNumbers(
  blobs: BlobWriter,
  segment: number,
  schema: Schema,
  { rows, ranks, valuesOf }: SegmentNumbers,
): Generator<undefined> {
  const docs = rows.length;
  const present: Record<string, number> = {};
  const members: Record<string, number> = {};
  writeNumbers(blobs, names.rows(segment), rows);
  writeNumbers(blobs, names.ranks(segment), ranks);
  const byRank = new Uint32Array(docs);
  for (let ordinal = 0; ordinal < docs; ordinal += 1) byRank[ranks[ordinal] ?? 0] = ordinal;
  for (const column of schema.columns) {
    yield;
    const values = valuesOf(column);
    writeNumbers(blobs, names.column(segment, column), values);
    if (schema.groups.includes(column)) {
      const inGroups = membersOf(values, column);
      members[column] = inGroups.length;
      writeNumbers(blobs, names.members(segment, column), inGroups);
      yield;
    }
    if (!schema.orders.includes(column)) continue;
    const ordinals = sortedBy(byRank, values);
    yield;
    writeNumbers(blobs, names.ordinals(segment, column), ordinals);
    let count = 0;
    for (const value of values) if (!Number.isNaN(value)) count += 1;
    present[column] = count;
  }
  blobs.write(names.head(segment), bytesOf(JSON.stringify({ present, members } satisfies Head)));
}

/** How many documents a segment may have: their ordinals share a floating point number with that of a group. */
export const MOST_DOCUMENTS = 2 ** 24;
/** How many groups there may be. */
const MOST_GROUPS = 2 ** 29;

/** Raises `RangeError` for more documents, or a greater number of a group, than can be distinguished. */
function membersOf(values: Float64Array, column: string): Uint32Array {
  if (values.length > MOST_DOCUMENTS)
    throw new RangeError(`a segment of ${values.length} documents: expected at most ${MOST_DOCUMENTS}`);
  const keys: Float64Array = new Float64Array(values.length);
  let count = 0;
  for (let ordinal = 0; ordinal < values.length; ordinal += 1) {
    const value = values[ordinal] ?? NaN;
    if (value >= MOST_GROUPS)
      throw new RangeError(`${column}: the number ${value} of a group: expected less than ${MOST_GROUPS}`);
    if (value >= 0) keys[count++] = value * MOST_DOCUMENTS + ordinal;
  }
  const members = new Uint32Array(count);
  const sorted = keys.subarray(0, count).sort();
  for (let at = 0; at < count; at += 1) members[at] = (sorted[at] ?? 0) % MOST_DOCUMENTS;
  return members;
}

/** Writes the blobs of the segment of some documents, in steps. */
export function* writeDocuments(
  blobs: BlobWriter,
  segment: number,
  schema: Schema,
  documents: readonly IndexedDocument[],
): Generator<undefined> {
  const ids = new SortedIds(documents);
  const rankOf = new Uint32Array(documents.length);
  for (let rank = 0; rank < rankOf.length; rank += 1) rankOf[ids.sorted[rank] ?? 0] = rank;
  yield;
  const { column = '', descending } = schema.defaultOrder ?? {};
  const first = numbersOf(schema, column, documents);
  const inOrder = sortedBy(ids.sorted, first, descending);
  const sorted = Array.from(inOrder, (at) => documents[at]).filter((one) => one !== undefined);
  const ordinalOf = new Uint32Array(documents.length);
  for (let ordinal = 0; ordinal < inOrder.length; ordinal += 1) ordinalOf[inOrder[ordinal] ?? 0] = ordinal;
  yield;
  ids.write(blobs, segment, ordinalOf);
  yield* writeTerms(blobs, segment, documents, inOrder);
  const rows = new Float64Array(sorted.length);
  const ranks = new Uint32Array(sorted.length);
  for (let ordinal = 0; ordinal < sorted.length; ordinal += 1) {
    rows[ordinal] = sorted[ordinal]?.row ?? NaN;
    ranks[ordinal] = rankOf[inOrder[ordinal] ?? 0] ?? 0;
  }
  yield* writeSegmentNumbers(blobs, segment, schema, {
    rows,
    ranks,
    valuesOf: (name) => numbersOf(schema, name, sorted),
  });
}

function numbersOf(schema: Schema, column: string, documents: readonly IndexedDocument[]): Float64Array {
  const index = schema.columns.indexOf(column);
  const numbers = new Float64Array(documents.length);
  for (let at = 0; at < numbers.length; at += 1) numbers[at] = documents[at]?.numbers[index] ?? NaN;
  return numbers;
}
