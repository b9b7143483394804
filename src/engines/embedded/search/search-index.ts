import { bytesOf, textOf } from './bytes';
import { type OrdinalSet, setOf, union } from './containers';
import { SegmentMerge } from './merge';
import { answer } from './answer';
import { type Answer, type Query } from './query';
import { type Searched } from './matches';
import { type IndexedDocument, ordinalsBelow, type Schema, Segment, writeSegment } from './segment';
import { type Blobs, CheckedBlobs } from './storage';

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
}

const EMPTY_MANIFEST: Manifest = { next: 1, segments: [], writing: [], replaced: [] };
const MANIFEST = 'manifest';

/** Documents per segment of `build`, before they are merged. */
const BUILT_AT_ONCE = 20_000;
/** Segments of a similar size that are merged into one. */
const TIER = 8;

/** A merge in progress. */
export interface Merge {
  /** Writes the new segment; nobody sees it yet. Between steps, anything may be read and written. */
  readonly steps: () => Generator<undefined>;
  /** Replaces the merged segments by the new one, in a moment. */
  readonly commit: () => void;
}

/**
 * A search index of immutable segments in blobs. Any number of threads may query it, each with its own `SearchIndex`; one
 * at a time may write: everything but `query` and `size` is called in a write transaction, and so is each step of a merge.
 * Reads see one moment if the caller's storage does within a transaction. Every method raises
 * `DamagedIndex`.
 */
export class SearchIndex {
  private readonly blobs: CheckedBlobs;
  private readonly opened = new Map<number, Opened>();
  private manifest: { readonly bytes: Uint8Array; readonly value: Manifest } | undefined;

  /** `cacheBytes` limits what is cached of tokens and columns. */
  constructor(
    blobs: Blobs,
    private readonly schema: Schema,
    { cacheBytes }: { readonly cacheBytes: number },
  ) {
    this.blobs = new CheckedBlobs(blobs, cacheBytes);
  }

  /** Fills an empty index: the documents of each partition become one segment. Their ids are distinct. */
  *build(
    partitions: Iterable<readonly [partition: number, documents: Iterable<IndexedDocument>]>,
  ): Generator<undefined> {
    for (const [partition, documents] of partitions) {
      let batch: IndexedDocument[] = [];
      for (const document of documents) {
        batch.push(document);
        if (batch.length < BUILT_AT_ONCE) continue;
        this.appendNew(partition, batch);
        batch = [];
        yield;
      }
      this.appendNew(partition, batch);
      const merge = this.mergeAll(partition);
      if (merge === undefined) continue;
      yield* merge.steps();
      merge.commit();
      while (this.sweep()) yield;
    }
  }

  /** Adds documents, or replaces those with the same ids. To be called in a write transaction. */
  append(partition: number, documents: readonly IndexedDocument[]): void {
    // Of several with one id, the last one counts.
    const newest = [...new Map(documents.map((document) => [document.id, document])).values()];
    this.delete(
      partition,
      newest.map(({ id }) => id),
    );
    this.appendNew(partition, newest);
  }

  /** Like `append`, if none of the ids is in the partition. */
  appendNew(partition: number, documents: readonly IndexedDocument[]): void {
    if (documents.length === 0) return;
    const { next, segments, ...rest } = this.read();
    writeSegment(this.blobs, next, this.schema, documents);
    const added = { id: next, partition, docs: documents.length, deleted: 0, version: 0 };
    this.write({ ...rest, next: next + 1, segments: [...segments, added] });
  }

  /** Deletes documents; unknown ids are ignored. To be called in a write transaction. */
  delete(partition: number, ids: readonly string[]): void {
    const manifest = this.read();
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
    if (segments.some((state, at) => state !== manifest.segments[at]))
      this.write({ ...manifest, ...withoutEmpty(segments, manifest.replaced) });
  }

  /** Deletes a whole partition. */
  deletePartition(partition: number): void {
    const manifest = this.read();
    const gone = manifest.segments.filter((state) => state.partition === partition);
    this.write({
      ...manifest,
      segments: manifest.segments.filter((state) => state.partition !== partition),
      replaced: [...manifest.replaced, ...gone.map(({ id }) => id)],
    });
  }

  /**
   * A merge that is due: of segments of similar size, or of one that is mostly deleted. There is one merge at a time:
   * until it is committed, or given up by `recover`, there is no other.
   */
  merge(): Merge | undefined {
    const { segments, writing } = this.read();
    if (writing.length > 0) return undefined;
    const tiers = new Map<string, SegmentState[]>();
    for (const state of segments) {
      if (state.deleted * 2 > state.docs) return this.mergeOf([state]);
      const tier = `${state.partition} ${tierOf(state.docs - state.deleted)}`;
      const similar = [...(tiers.get(tier) ?? []), state];
      if (similar.length === TIER) return this.mergeOf(similar);
      tiers.set(tier, similar);
    }
    return undefined;
  }

  /** A merge of all segments of a partition; undefined if there is one without deleted documents, or as for `merge`. */
  mergeAll(partition: number): Merge | undefined {
    const { writing, ...manifest } = this.read();
    const segments = manifest.segments.filter((state) => state.partition === partition);
    const isMerged =
      writing.length > 0 || segments.length === 0 || (segments.length === 1 && segments[0]?.deleted === 0);
    return isMerged ? undefined : this.mergeOf(segments);
  }

  /**
   * Removes some blobs of segments that were replaced or emptied; false if there are none, or while a merge is in
   * progress, which may read them.
   */
  sweep(): boolean {
    const manifest = this.read();
    const [segment] = manifest.replaced;
    if (segment === undefined || manifest.writing.length > 0) return false;
    if (!this.blobs.remove(`${segment}/`))
      this.write({ ...manifest, replaced: manifest.replaced.filter((one) => one !== segment) });
    return true;
  }

  /** Gives up merges that a crash ended: their blobs are left to `sweep`. No merge may be in progress. */
  recover(): void {
    const manifest = this.read();
    if (manifest.writing.length > 0)
      this.write({ ...manifest, writing: [], replaced: [...manifest.replaced, ...manifest.writing] });
  }

  /** `partitions`: those to search; by default all. `check` is called every few ms, and may throw to stop the query. */
  query(query: Query, partitions?: ReadonlySet<number>, check: () => void = () => undefined): Answer {
    const searched: Searched[] = [];
    for (const state of this.read().segments) {
      if (partitions !== undefined && !partitions.has(state.partition)) continue;
      const { segment, deleted } = this.open(state);
      searched.push({ segment, partition: state.partition, deleted });
    }
    return answer(searched, this.schema, query, check);
  }

  /** To be called after a write transaction was rolled back: what was read in it is forgotten. */
  rolledBack(): void {
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

  private mergeOf(states: readonly SegmentState[]): Merge {
    const manifest = this.read();
    const target = manifest.next;
    this.write({ ...manifest, next: target + 1, writing: [...manifest.writing, target] });
    const sources = states.map((state) => ({
      // One of its own, so that the cache stays as it is and its memory is freed with the merge.
      segment: new Segment(this.blobs, state.id, this.schema, false),
      deleted: this.open(state).deleted,
    }));
    const merge = new SegmentMerge(this.blobs, this.schema, sources, target);
    return {
      steps: () => merge.steps(),
      commit: () => {
        this.commit(states, merge, target);
      },
    };
  }

  /** Documents that were deleted since the merge began are deleted in the new segment. */
  private commit(merged: readonly SegmentState[], merge: SegmentMerge, target: number): void {
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
    this.write({
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
    const segment = open?.segment ?? new Segment(this.blobs, state.id, this.schema);
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

  private write(manifest: Manifest): void {
    this.blobs.write(MANIFEST, bytesOf(JSON.stringify(manifest)));
  }
}

/** A segment in use, with its deleted documents as of a version. */
interface Opened extends Searched {
  readonly version: number;
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
