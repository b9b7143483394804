import { bytesOf, textOf } from './bytes';
import { difference, everything, type OrdinalSet, setOf, union } from './containers';
import { SegmentMerge } from './merge';
import { answer } from './answer';
import { countFacets } from './facets';
import { matchesOf, type Searched } from './matches';
import { type Answer, type Count, type Facet, type Filter, type Query } from './query';
import { type Change, decodeChanges, encodeChanges } from './recorded';
import {
  type IndexedDocument,
  MOST_DOCUMENTS,
  ordinalsBelow,
  type Schema,
  Segment,
  writeDocuments,
  writeSegment,
} from './segment';
import { type BlobCache, type Blobs, CheckedBlobs } from './storage';
import { rowsById, type Walked, walked } from './walk';

/** What the manifest says about a segment. */
interface SegmentState {
  readonly id: number;
  readonly partition: number;
  readonly docs: number;
  /** How many of them are deleted. */
  readonly deleted: number;
  /** Counts the changes of the deleted documents. */
  readonly version: number;
}

/** The only blob besides the tombstones that is ever replaced: a write takes effect with it. */
interface Manifest {
  /** The number of the next segment. */
  readonly next: number;
  readonly segments: readonly SegmentState[];
  /** Segments that merges write, or that they have replaced: removed by `sweep`. */
  readonly writing: readonly number[];
  readonly replaced: readonly number[];
  /** Changes that no segment has yet: the numbers of their blobs are from `first` to before `next`. */
  readonly recorded?: {
    readonly first: number;
    readonly next: number;
    readonly docs: number;
    readonly bytes: number;
  };
}

const EMPTY_MANIFEST: Manifest = { next: 1, segments: [], writing: [], replaced: [] };
const MANIFEST = 'manifest';
const NOTHING_RECORDED = { first: 0, next: 0, docs: 0, bytes: 0 } as const;

function recordedName(number: number): string {
  return `recorded/${number}/`;
}

/** Segments that are merged into one at a time. */
const MOST_MERGED = 256;
/** Segments of similar size, by a factor of so many, are one tier. */
const TIER = 8;

/** How many documents a segment has, at most about: one that a merge makes, and one of what was recorded. */
interface Most {
  readonly docs: number;
  readonly built: number;
}
const MOST: Most = { docs: MOST_DOCUMENTS, built: 65_536 };

/** So many bytes that were recorded are made a segment of at a time, whatever their number. */
const BUILT_BYTES = 48_000_000;

/** A merge in progress. */
export interface Merge {
  /** Writes the new segment; nobody sees it yet. Between steps, anything may be read and written. */
  readonly steps: () => Generator<undefined>;
  /**
   * Whether another writer has given it up (`recover`), and may remove what it reads: there must be no further step.
   * To be asked in each write transaction.
   */
  readonly isGivenUp: () => boolean;
  /** Replaces the merged segments by the new one, in a moment; unless the merge was given up meanwhile (`recover`). */
  readonly commit: () => void;
}

/**
 * A search index of immutable segments in blobs. Any number of threads may query it, each with its own `SearchIndex`;
 * one at a time may write: everything but queries and `size` is called in a write transaction, and so is each step of a
 * merge. Reads see one moment if the caller's storage does within a transaction. Every method raises `DamagedIndex`.
 */
export class SearchIndex {
  private readonly blobs: CheckedBlobs;
  private readonly opened = new Map<number, Opened>();
  private manifest: { readonly bytes: Uint8Array; readonly value: Manifest } | undefined;

  /** `cache`: for tokens and columns. */
  constructor(
    blobs: Blobs,
    private readonly schema: Schema,
    cache: BlobCache,
    private readonly most = MOST,
  ) {
    this.blobs = new CheckedBlobs(blobs, cache);
  }

  /** Applies changes, one per partition. To be called in a write transaction. */
  write(changes: readonly Change[]): void {
    const before = this.read();
    let manifest = before;
    for (const { partition, joining, deleted, added } of changes) {
      manifest = this.withJoining(manifest, partition, joining);
      manifest = this.withoutDocuments(manifest, partition, deleted);
      manifest = this.withDocuments(manifest, partition, added);
    }
    if (manifest !== before) this.save(manifest);
  }

  /**
   * Like `write`, for an index that is not searched until `build` has nothing left to do: no small segments are made.
   */
  record(changes: readonly Change[]): void {
    const manifest = this.read();
    const { recorded = NOTHING_RECORDED } = manifest;
    const bytes = encodeChanges(changes);
    this.blobs.write(recordedName(recorded.next), bytes);
    const docs = changes.reduce((sum, { added }) => sum + added.length, recorded.docs);
    this.save({
      ...manifest,
      recorded: { ...recorded, next: recorded.next + 1, docs, bytes: recorded.bytes + bytes.length },
    });
  }

  /**
   * Makes segments of the next changes that were recorded, one per partition, like a merge. `isAll`: of fewer too than
   * make a large one.
   */
  build(isAll: boolean): Merge | undefined {
    const manifest = this.read();
    const { recorded = NOTHING_RECORDED, writing, next } = manifest;
    const isDue = isAll || recorded.docs >= this.most.built || recorded.bytes >= BUILT_BYTES;
    if (writing.length > 0 || recorded.first === recorded.next || !isDue) return undefined;
    const { end, bytes, docs, partitions } = this.recordedFrom(recorded);
    const parts = [...partitions].map(([partition, { joining, deleted, added }], at) => ({
      id: next + at,
      partition,
      joining,
      deleted: [...deleted],
      documents: [...added.values()],
    }));
    const targets = parts.map(({ id }) => id);
    this.save({ ...manifest, next: next + targets.length, writing: targets });
    const { blobs, schema } = this;
    return {
      *steps() {
        for (const { id, documents } of parts)
          yield* writeSegment(blobs, id, documents.length, (into) =>
            writeDocuments(into, id, schema, documents),
          );
      },
      isGivenUp: () => this.isGivenUp(targets),
      commit: () => {
        if (this.isGivenUp(targets)) {
          this.giveUp(targets);
          return;
        }
        let built = this.read();
        for (const { partition, joining, deleted } of parts) {
          built = this.withJoining(built, partition, joining);
          built = this.withoutDocuments(built, partition, deleted);
        }
        for (let number = recorded.first; number < end; number += 1) this.blobs.remove(recordedName(number));
        const added = parts.map(({ id, partition, documents }) => ({
          id,
          partition,
          docs: documents.length,
          deleted: 0,
          version: 0,
        }));
        const { recorded: all = NOTHING_RECORDED } = built;
        this.save({
          ...built,
          writing: [],
          ...withoutEmpty([...built.segments, ...added], built.replaced),
          recorded: { first: end, next: all.next, docs: all.docs - docs, bytes: all.bytes - bytes },
        });
      },
    };
  }

  /** Whether there are changes that no segment has yet. */
  isRecorded(): boolean {
    const { first, next } = this.read().recorded ?? NOTHING_RECORDED;
    return first < next;
  }

  /** The first changes that are recorded, up to one beyond what a segment is made of. */
  private recordedFrom({ first, next }: NonNullable<Manifest['recorded']>): {
    readonly end: number;
    readonly docs: number;
    readonly bytes: number;
    readonly partitions: ReadonlyMap<number, RecordedPartition>;
  } {
    const partitions = new Map<number, RecordedPartition>();
    let end = first;
    let docs = 0;
    let bytes = 0;
    for (; end < next && docs < this.most.built && bytes < BUILT_BYTES; end += 1) {
      const changes = this.blobs.readOnce(recordedName(end), (blob) => {
        bytes += blob.length;
        return decodeChanges(blob);
      });
      for (const { partition, joining, deleted, added } of changes) {
        let own = partitions.get(partition);
        if (own === undefined) {
          own = { joining: [], deleted: new Set(), added: new Map() };
          partitions.set(partition, own);
        }
        for (const one of joining) {
          const document = own.added.get(one.id);
          if (document === undefined) own.joining.push(one);
          else own.added.set(one.id, joined(document, this.schema.columns.indexOf(one.column), one.number));
        }
        for (const id of deleted) {
          own.deleted.add(id);
          own.added.delete(id);
        }
        for (const document of added) own.added.set(document.id, document);
        docs += added.length;
      }
    }
    return { end, docs, bytes, partitions };
  }

  private isGivenUp(targets: readonly number[]): boolean {
    const { writing } = this.read();
    return targets.some((target) => !writing.includes(target));
  }

  /** Some blobs of these may have been written after those before were swept. */
  private giveUp(targets: readonly number[]): void {
    const manifest = this.read();
    const { replaced } = manifest;
    const more = targets.filter((target) => !replaced.includes(target));
    if (more.length > 0) this.save({ ...manifest, replaced: [...replaced, ...more] });
  }

  /**
   * A merge that is due: of `most` or more segments of a similar size, or of one that is mostly deleted. There is one
   * merge at a time: until it is committed, or given up by `recover`, there is no other.
   */
  merge(most: number): Merge | undefined {
    const { segments, writing } = this.read();
    if (writing.length > 0) return undefined;
    const tiers = new Map<string, SegmentState[]>();
    for (const state of segments) {
      if (state.deleted * 2 > state.docs) return this.mergeOf([state]);
      const tier = `${state.partition} ${tierOf(state.docs - state.deleted)}`;
      const similar = tiers.get(tier);
      if (similar === undefined) tiers.set(tier, [state]);
      else similar.push(state);
    }
    for (const similar of tiers.values()) {
      const together = this.together(similar);
      if (similar.length >= most && together.length > 1) return this.mergeOf(together);
    }
    return undefined;
  }

  /**
   * A merge of all segments of a partition, by default of any one, or of as many as may become one; undefined if none of
   * them may be merged with another or has deleted documents, or as for `merge`.
   */
  mergeAll(wanted?: number): Merge | undefined {
    const { segments, writing } = this.read();
    if (writing.length > 0) return undefined;
    const partitions = new Map<number, SegmentState[]>();
    for (const state of segments) {
      if (wanted !== undefined && state.partition !== wanted) continue;
      const others = partitions.get(state.partition);
      if (others === undefined) partitions.set(state.partition, [state]);
      else others.push(state);
    }
    for (const states of partitions.values()) {
      const together = this.together(states);
      if (together.length > 1) return this.mergeOf(together);
      const partial = states.find(({ deleted }) => deleted > 0);
      if (partial !== undefined) return this.mergeOf([partial]);
    }
    return undefined;
  }

  /** The smallest of some segments, as many as one may have the documents of. */
  private together(states: readonly SegmentState[]): readonly SegmentState[] {
    let docs = 0;
    return states
      .toSorted((a, b) => a.docs - a.deleted - (b.docs - b.deleted))
      .slice(0, MOST_MERGED)
      .filter((state) => (docs += state.docs - state.deleted) <= this.most.docs);
  }

  /**
   * Removes blobs of segments that were replaced or emptied: some, and more as long as `goesOn`. False if there are
   * none, or while a merge is in progress, which may read them.
   */
  sweep(goesOn: () => boolean = () => false): boolean {
    const manifest = this.read();
    const { replaced } = manifest;
    if (replaced.length === 0 || manifest.writing.length > 0) return false;
    let swept = 0;
    do if (!this.blobs.remove(`${replaced[swept]}/`)) swept += 1;
    while (swept < replaced.length && goesOn());
    if (swept > 0) this.save({ ...manifest, replaced: replaced.slice(swept) });
    return true;
  }

  /** Gives up merges that a crash ended: their blobs are left to `sweep`. */
  recover(): void {
    const manifest = this.read();
    if (manifest.writing.length > 0)
      this.save({ ...manifest, writing: [], replaced: [...manifest.replaced, ...manifest.writing] });
  }

  /** `partitions`: those to search; by default all. `check` is called every few ms, and may throw to stop the query. */
  query(query: Query, partitions?: ReadonlySet<number>, check: () => void = () => undefined): Answer {
    return this.searching(partitions, (searched) => answer(searched, this.schema, query, check));
  }

  /** Counts values among the matching documents: in the order of the facets, of which a column has at most 250 bounds. */
  countFacets(
    filter: Filter,
    facets: readonly Facet[],
    partitions?: ReadonlySet<number>,
    check: () => void = () => undefined,
  ): readonly (readonly Count[])[] {
    return this.searching(partitions, (searched) =>
      countFacets(searched, this.schema, filter, facets, check),
    );
  }

  /** All matching documents in batches, in any order: their rows, and their numbers in some columns. */
  *walk(
    filter: Filter,
    columns: readonly string[],
    partitions?: ReadonlySet<number>,
    check: () => void = () => undefined,
  ): Generator<Walked, undefined> {
    for (const one of this.searched(partitions)) {
      yield* walked(matchesOf(one, this.schema, filter, check), columns, check);
      one.segment.release();
    }
  }

  /** The rows of all matching documents by id, ascending, from the first one after an id on. */
  rows(
    filter: Filter,
    partitions?: ReadonlySet<number>,
    after?: string,
    check: () => void = () => undefined,
  ): Generator<number, undefined> {
    const all = this.searched(partitions).map((one) => matchesOf(one, this.schema, filter, check));
    return rowsById(all, after, check);
  }

  /** To be called after a write transaction was rolled back, or at the end: what was read is forgotten. */
  forget(): void {
    this.opened.clear();
    this.blobs.clear();
  }

  /** Live documents and segments. */
  size(): { readonly docs: number; readonly segments: number } {
    const { segments } = this.read();
    return {
      docs: segments.reduce((sum, { docs, deleted }) => sum + docs - deleted, 0),
      segments: segments.length,
    };
  }

  private searching<Result>(
    partitions: ReadonlySet<number> | undefined,
    work: (searched: readonly Opened[]) => Result,
  ): Result {
    const searched = this.searched(partitions);
    try {
      return work(searched);
    } finally {
      for (const { segment } of searched) segment.release();
    }
  }

  private searched(partitions: ReadonlySet<number> | undefined): readonly Opened[] {
    return this.read()
      .segments.filter(({ partition }) => partitions?.has(partition) !== false)
      .map((state) => this.open(state));
  }

  private withDocuments(
    manifest: Manifest,
    partition: number,
    documents: readonly IndexedDocument[],
  ): Manifest {
    if (documents.length === 0) return manifest;
    const { next, segments } = manifest;
    const steps = writeSegment(this.blobs, next, documents.length, (into) =>
      writeDocuments(into, next, this.schema, documents),
    );
    while (steps.next().done !== true);
    const added = { id: next, partition, docs: documents.length, deleted: 0, version: 0 };
    return { ...manifest, next: next + 1, segments: [...segments, added] };
  }

  /** Documents that join a group are written again, into a segment of their own. */
  private withJoining(manifest: Manifest, partition: number, joining: Change['joining']): Manifest {
    let now = manifest;
    for (const state of joining.length === 0 ? [] : manifest.segments) {
      if (state.partition !== partition) continue;
      const { segment, deleted } = this.open(state);
      const changed = new Map<string, Map<number, number>>();
      const found = new Set<number>();
      for (const { id, column, number } of joining) {
        const ordinal = segment.ordinalOf(id);
        if (ordinal === undefined || deleted.has(ordinal) || !(segment.column(column).get(ordinal) < 0))
          continue;
        found.add(ordinal);
        changed.set(column, (changed.get(column) ?? new Map<number, number>()).set(ordinal, number));
      }
      if (found.size === 0) continue;
      const set = setOf(state.docs, Uint32Array.from(found).sort());
      const own = new Segment(this.blobs, state.id, state.docs, this.schema, false);
      const others = difference(everything(state.docs), set);
      const source = { segment: own, deleted: others, changed };
      const { next } = now;
      const merge = new SegmentMerge(this.blobs, this.schema, [source], next);
      const steps = merge.steps();
      while (steps.next().done !== true);
      const segments = now.segments.map((one) => (one.id === state.id ? this.withDeleted(one, set) : one));
      const added = { id: next, partition, docs: merge.docs, deleted: 0, version: 0 };
      now = { ...now, next: next + 1, ...withoutEmpty([...segments, added], now.replaced) };
    }
    return now;
  }

  private withoutDocuments(manifest: Manifest, partition: number, ids: readonly string[]): Manifest {
    let rest: readonly string[] = ids;
    const segments = manifest.segments.map((state) => {
      if (state.partition !== partition || rest.length === 0) return state;
      const { segment, deleted } = this.open(state);
      const found: number[] = [];
      const others: string[] = [];
      for (const id of rest) {
        const ordinal = segment.ordinalOf(id);
        if (ordinal === undefined || deleted.has(ordinal)) others.push(id);
        else found.push(ordinal);
      }
      rest = others;
      return this.withDeleted(state, setOf(state.docs, Uint32Array.from(new Set(found)).sort()));
    });
    return segments.every((state, at) => state === manifest.segments[at])
      ? manifest
      : { ...manifest, ...withoutEmpty(segments, manifest.replaced) };
  }

  private mergeOf(states: readonly SegmentState[]): Merge {
    const manifest = this.read();
    const target = manifest.next;
    this.save({ ...manifest, next: target + 1, writing: [...manifest.writing, target] });
    const sources = states.map((state) => ({
      // One of its own, so that the cache stays as it is and its memory is freed with the merge.
      segment: new Segment(this.blobs, state.id, state.docs, this.schema, false),
      deleted: this.open(state).deleted,
    }));
    const merge = new SegmentMerge(this.blobs, this.schema, sources, target);
    return {
      steps: () => merge.steps(),
      isGivenUp: () => this.isGivenUp([target]),
      commit: () => {
        this.commit(states, merge, target);
      },
    };
  }

  /** Documents that were deleted since the merge began are deleted in the new segment. */
  private commit(merged: readonly SegmentState[], merge: SegmentMerge, target: number): void {
    if (this.isGivenUp([target])) {
      this.giveUp([target]);
      return;
    }
    const manifest = this.read();
    const late: OrdinalSet[] = [];
    for (const [source, before] of merged.entries()) {
      const now = manifest.segments.find(({ id }) => id === before.id);
      const all = now === undefined ? setOf(before.docs, ordinalsBelow(before.docs)) : this.open(now).deleted;
      late.push(merge.movedSet(source, all));
    }
    const { partition = 0 } = merged[0] ?? {};
    const added = this.withDeleted(
      { id: target, partition, docs: merge.docs, deleted: 0, version: 0 },
      union(merge.docs, late),
    );
    const ids = new Set(merged.map(({ id }) => id));
    const kept = manifest.segments.filter(({ id }) => !ids.has(id));
    const replaced = [...manifest.replaced, ...ids];
    this.save({
      ...manifest,
      writing: manifest.writing.filter((one) => one !== target),
      ...withoutEmpty([...kept, added], replaced),
    });
  }

  /** Adds to the deleted documents of a segment. */
  private withDeleted(state: SegmentState, more: OrdinalSet): SegmentState {
    if (more.count === 0) return state;
    const { segment, deleted } = this.open(state);
    const all = union(
      state.docs,
      [deleted, more].filter(({ count }) => count > 0),
    );
    const version = state.version + 1;
    segment.writeDeleted(version, all);
    return { ...state, version, deleted: all.count };
  }

  private open(state: SegmentState): Opened {
    const open = this.opened.get(state.id);
    if (open?.version === state.version) return open;
    const segment = open?.segment ?? new Segment(this.blobs, state.id, state.docs, this.schema);
    const opened = {
      segment,
      partition: state.partition,
      version: state.version,
      deleted: segment.deleted(state.version),
    };
    this.opened.set(state.id, opened);
    return opened;
  }

  private read(): Manifest {
    const bytes = this.blobs.readIfPresent(MANIFEST, (found) => found);
    if (bytes === undefined) return EMPTY_MANIFEST;
    if (this.manifest !== undefined && Buffer.compare(bytes, this.manifest.bytes) === 0)
      return this.manifest.value;
    const value = JSON.parse(textOf(bytes)) as Manifest;
    this.manifest = { bytes, value };
    const ids = new Set(value.segments.map(({ id }) => id));
    for (const id of this.opened.keys()) if (!ids.has(id)) this.opened.delete(id);
    return value;
  }

  private save(manifest: Manifest): void {
    this.blobs.write(MANIFEST, bytesOf(JSON.stringify(manifest)));
  }
}

/** What becomes of the documents of a partition. */
interface RecordedPartition {
  readonly joining: Change['joining'][number][];
  readonly deleted: Set<string>;
  readonly added: Map<string, IndexedDocument>;
}

/** A segment in use, with its deleted documents as of a version. */
interface Opened extends Searched {
  readonly version: number;
}

/** A document with another number in a column in which it was a group of its own. */
function joined(document: IndexedDocument, column: number, number: number): IndexedDocument {
  if (!((document.numbers[column] ?? NaN) < 0)) return document;
  return { ...document, numbers: Array.from(document.numbers).with(column, number) };
}

/** Segments without live documents need no merge. */
function withoutEmpty(
  segments: readonly SegmentState[],
  replaced: readonly number[],
): Pick<Manifest, 'segments' | 'replaced'> {
  const isEmpty = ({ docs, deleted }: SegmentState): boolean => docs === deleted;
  return {
    segments: segments.filter((state) => !isEmpty(state)),
    replaced: [...replaced, ...segments.filter(isEmpty).map(({ id }) => id)],
  };
}

/** Sizes of one tier differ by less than the factor `TIER`. */
function tierOf(docs: number): number {
  return Math.floor(Math.log(Math.max(docs, 1)) / Math.log(TIER));
}
