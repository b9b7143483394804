import { bytesOf, textOf } from './bytes';
import { type CheckedBlobs, DamagedIndex } from './storage';
import { type IndexedDocument } from './segment';

/** What the index knows about a segment without reading it. */
export interface SegmentState {
  readonly id: number;
  /** Or `SHARED`. */
  readonly partition: number;
  readonly docs: number;
  /** How many of them are deleted. */
  readonly deleted: number;
  /** Counts the changes of the deleted documents. */
  readonly version: number;
}

/** A segment as it is written. */
type StoredState = readonly [id: number, docs: number, deleted: number, version: number];

/** What is replaced with each write. Its size does not depend on the number of partitions. */
export interface Root {
  readonly next: number;
  /** Segments that merges write, or that they have replaced: removed by `SearchIndex.sweep`. */
  readonly writing: readonly number[];
  readonly replaced: readonly number[];
  /** Changes that no segment has yet: the numbers of their blobs are from `first` to before `next`. */
  readonly recorded?: {
    readonly first: number;
    readonly next: number;
    readonly docs: number;
    readonly bytes: number;
  };
  /** How many partitions have ever had segments: each has a blob. */
  readonly partitions: number;
  /** How often any partition has changed, and the last ones that did. */
  readonly changes: number;
  readonly changed: readonly number[];
}

const EMPTY: Root = { next: 1, writing: [], replaced: [], partitions: 0, changes: 0, changed: [] };

/** The blobs, besides tombstones, that are replaced: a write takes effect with them. */
const ROOT = 'manifest';
const PARTITIONS = 'partition/';

/** In place of a partition, for the segments that small partitions share: no partition has this number. */
export const SHARED = 0.5;

function nameOf(partition: number): string {
  return `${PARTITIONS}${partition}`;
}

/** So many changes are listed: whoever has missed more reads all partitions again. */
const MOST_CHANGED = 500;

/** Segments of similar size, by a factor of so many, are one tier. */
const TIER = 8;

/**
 * Which segments there are, by partition. All are in memory once they were read; after that, only those of partitions
 * that have changed are read again. Every method sees the caller's transaction, and raises `DamagedIndex`.
 */
export class Manifest {
  private readonly partitions = new Map<number, readonly SegmentState[]>();
  /** Partitions with several segments or with deleted documents: how many segments their fullest tier has. */
  private readonly untidy = new Map<number, number>();
  /** `Root.changes` when the partitions were read last; -1 is never. */
  private seen = -1;
  private latest: { readonly bytes: Uint8Array; readonly root: Root } | undefined;
  /** Whether `latest` is the root, since only the caller writes until its transaction ends. */
  private isLatest: 'never' | 'once read' | 'yes' = 'never';

  /** `onGone`: called with the numbers of segments that are no longer part of the index. */
  constructor(
    private readonly blobs: CheckedBlobs,
    private readonly onGone: (segment: number) => void,
  ) {}

  /** Does some work in a write transaction: the root is read once. */
  exclusively<Result>(work: () => Result): Result {
    this.isLatest = 'once read';
    try {
      return work();
    } finally {
      this.isLatest = 'never';
    }
  }

  root(): Root {
    if (this.isLatest === 'yes' && this.latest !== undefined) return this.latest.root;
    const root = this.storedRoot();
    if (this.isLatest === 'once read') this.isLatest = 'yes';
    return root;
  }

  private storedRoot(): Root {
    const bytes = this.blobs.readIfPresent(ROOT, (found) => found);
    if (bytes === undefined) return EMPTY;
    if (this.latest !== undefined && Buffer.compare(bytes, this.latest.bytes) === 0) return this.latest.root;
    const root = JSON.parse(textOf(bytes)) as Root;
    this.latest = { bytes, root };
    return root;
  }

  /** The root, and the segments of each partition. */
  read(): {
    readonly root: Root;
    readonly partitions: ReadonlyMap<number, readonly SegmentState[]>;
  } {
    return { root: this.refresh(), partitions: this.partitions };
  }

  /** Partitions with several segments or with deleted documents: those that changed last come last. */
  unmerged(): Iterable<number> {
    this.refresh();
    return this.untidy.keys();
  }

  /** Those of them with `most` or more segments of one tier, or with one that is mostly deleted. */
  *crowded(most: number): Generator<number, undefined> {
    this.refresh();
    for (const [partition, similar] of this.untidy) if (similar >= most) yield partition;
  }

  /** Replaces parts of the root, and the segments of some partitions. To be called in a write transaction. */
  save(changes: Partial<Root>, segments: ReadonlyMap<number, readonly SegmentState[]> = new Map()): void {
    const before = this.refresh();
    let { partitions } = before;
    for (const [partition, states] of segments) {
      if (!this.partitions.has(partition)) partitions += 1;
      const stored = states.map(({ id, docs, deleted, version }): StoredState => [
        id,
        docs,
        deleted,
        version,
      ]);
      this.blobs.write(nameOf(partition), bytesOf(JSON.stringify(stored)));
      this.set(partition, states);
    }
    const root: Root = {
      ...before,
      ...changes,
      partitions,
      changes: before.changes + segments.size,
      changed: [...before.changed, ...segments.keys()].slice(-MOST_CHANGED),
    };
    const bytes = bytesOf(JSON.stringify(root));
    this.blobs.write(ROOT, bytes);
    this.latest = { bytes, root };
    this.seen = root.changes;
  }

  /** To be called after a write transaction was rolled back. */
  forget(): void {
    this.partitions.clear();
    this.untidy.clear();
    this.latest = undefined;
    this.seen = -1;
  }

  /** Reads what others have changed. */
  private refresh(): Root {
    const root = this.root();
    const missed = root.changes - this.seen;
    if (missed === 0) return root;
    if (this.seen >= 0 && missed > 0 && missed <= root.changed.length) {
      for (const partition of new Set(root.changed.slice(-missed)))
        this.set(partition, statesOf(partition, this.blobs.readOnce(nameOf(partition), decodeStates)));
    } else this.readAll(root);
    this.seen = root.changes;
    return root;
  }

  private readAll({ partitions }: Root): void {
    const all = this.blobs.readAll(PARTITIONS, decodeStates);
    if (all.length !== partitions)
      throw new DamagedIndex(`the search index has ${all.length} partitions: expected ${partitions}`);
    for (const [name, stored] of all) {
      const partition = Number(name.slice(PARTITIONS.length));
      this.set(partition, statesOf(partition, stored));
    }
  }

  private set(partition: number, states: readonly SegmentState[]): void {
    const ids = new Set(states.map(({ id }) => id));
    for (const { id } of this.partitions.get(partition) ?? []) if (!ids.has(id)) this.onGone(id);
    this.partitions.set(partition, states);
    // To the end.
    this.untidy.delete(partition);
    if (states.length > 1 || states.some(({ deleted }) => deleted > 0))
      this.untidy.set(partition, similarIn(states));
  }
}

function decodeStates(bytes: Uint8Array): readonly StoredState[] {
  return JSON.parse(textOf(bytes)) as readonly StoredState[];
}

function statesOf(partition: number, stored: readonly StoredState[]): readonly SegmentState[] {
  return stored.map(([id, docs, deleted, version]) => ({ id, partition, docs, deleted, version }));
}

/** Segments of a similar size. */
export function tiersOf(states: readonly SegmentState[]): readonly (readonly SegmentState[])[] {
  const tiers = new Map<number, SegmentState[]>();
  for (const state of states) {
    const tier = Math.floor(Math.log(Math.max(state.docs - state.deleted, 1)) / Math.log(TIER));
    const similar = tiers.get(tier);
    if (similar === undefined) tiers.set(tier, [state]);
    else similar.push(state);
  }
  return [...tiers.values()];
}

export function isMostlyDeleted({ docs, deleted }: SegmentState): boolean {
  return deleted * 2 > docs;
}

/** How many segments the fullest tier has; Infinity if a segment is mostly deleted. */
function similarIn(states: readonly SegmentState[]): number {
  if (states.some(isMostlyDeleted)) return Infinity;
  return Math.max(...tiersOf(states).map(({ length }) => length));
}

/** A document that was a group of its own in a column, and is one of a group with a number from now on. */
interface Joining {
  readonly id: string;
  readonly column: string;
  readonly number: number;
}

/** What a write does in one partition, in this order. */
export interface PartitionChange {
  readonly partition: number;
  /** Seldom: it takes as long as merging the segment of the document. Unknown documents, and others, are ignored. */
  readonly joining: readonly Joining[];
  /** Ids of documents to delete; unknown ones are ignored. */
  readonly deleted: readonly string[];
  /** Documents whose ids are distinct, and are in the partition only if they are in `deleted` too. */
  readonly added: readonly IndexedDocument[];
}

/** A change without its numbers and tokens: ids of added documents. */
type ChangeHead = readonly [
  partition: number,
  joining: readonly Joining[],
  deleted: readonly string[],
  added: readonly string[],
];

/** Numbers of a document besides those of its columns: its row and the length of its tokens. */
const OTHERS = 2;

/**
 * Changes as bytes: the length of their heads, which are JSON; then for each added document its row, the length of its
 * tokens and its numbers; then all tokens.
 */
export function encodeChanges(changes: readonly PartitionChange[]): Uint8Array {
  const heads = bytesOf(
    JSON.stringify(
      changes.map(({ partition, joining, deleted, added }): ChangeHead => [
        partition,
        joining,
        deleted,
        added.map(({ id }) => id),
      ]),
    ),
  );
  const documents = changes.flatMap(({ added }) => added);
  const width = OTHERS + (documents[0]?.numbers.length ?? 0);
  const numbers = new Float64Array(documents.length * width);
  let size = 0;
  for (const [at, { row, tokens, numbers: own }] of documents.entries()) {
    numbers[at * width] = row;
    numbers[at * width + 1] = tokens.length;
    for (let column = 0; column < own.length; column += 1)
      numbers[at * width + OTHERS + column] = own[column] ?? NaN;
    size += tokens.length;
  }
  const start = Math.ceil((8 + heads.length) / 8) * 8;
  const bytes = new Uint8Array(start + numbers.byteLength + size);
  new Uint32Array(bytes.buffer, 0, 2).set([heads.length, width]);
  bytes.set(heads, 8);
  bytes.set(new Uint8Array(numbers.buffer), start);
  let end = start + numbers.byteLength;
  for (const { tokens } of documents) {
    bytes.set(tokens, end);
    end += tokens.length;
  }
  return bytes;
}

/** The changes; tokens are views of these bytes, which start at a multiple of eight. */
export function decodeChanges(bytes: Uint8Array): readonly PartitionChange[] {
  const { buffer, byteOffset } = bytes;
  const [length = 0, width = 0] = new Uint32Array(buffer, byteOffset, 2);
  const heads = JSON.parse(textOf(bytes.subarray(8, 8 + length))) as readonly ChangeHead[];
  const count = heads.reduce((sum, [, , , added]) => sum + added.length, 0);
  const start = Math.ceil((8 + length) / 8) * 8;
  const numbers = new Float64Array(buffer, byteOffset + start, count * width);
  let at = 0;
  let end = start + numbers.byteLength;
  return heads.map(([partition, joining, deleted, ids]): PartitionChange => {
    const added = ids.map((id): IndexedDocument => {
      const own = numbers.subarray(at, at + width);
      at += width;
      const from = end;
      end += own[1] ?? 0;
      return { id, row: own[0] ?? 0, tokens: bytes.subarray(from, end), numbers: own.subarray(OTHERS) };
    });
    return { partition, joining, deleted, added };
  });
}
