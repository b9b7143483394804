import { reusingBitmaps } from './containers';
import { type OrdinalSet, setOf, union } from './sets';
import { SegmentMerge } from './merge';
import { answer, rowsById, type Walked, walked } from './answer';
import { countFacets } from './facets';
import {
  type PartitionChange,
  decodeChanges,
  encodeChanges,
  isMostlyDeleted,
  Manifest,
  type Root,
  type SegmentState,
  tiersOf,
} from './manifest';
import { matchesOf, type Searched } from './matches';
import { OpenSegments, type PartitionDraft, Sharing, withoutEmpty } from './open-segments';
import { type IndexAnswer, type Count, type IndexFacet, type IndexFilter, type IndexQuery } from './query';
import {
  type IndexedDocument,
  MOST_DOCUMENTS,
  type Schema,
  Segment,
  writeDocuments,
  writeSegment,
} from './segment';
import { ordinalsBelow } from './sorting';
import { type BlobCache, type Blobs, CheckedBlobs, type SharedArrays } from './storage';

const NOTHING_RECORDED = { first: 0, next: 0, docs: 0, bytes: 0 } as const;

function recordedName(number: number): string {
  return `recorded/${number}/`;
}

/** Segments that are merged into one at a time. */
const MOST_MERGED = 256;

/**
 * How many documents, at most about, are in a segment that a merge makes, in one of what was recorded, and in a
 * partition that shares segments with others.
 */
interface Most {
  readonly docs: number;
  readonly built: number;
  readonly shared: number;
}
const MOST: Most = { docs: MOST_DOCUMENTS, built: 65_536, shared: 1_024 };

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
  private readonly segments: OpenSegments;
  private readonly sharing: Sharing;
  private readonly manifest: Manifest;
  private readonly most: Most;

  /** `cache`: for tokens and columns. `arrays`: what other threads with the same blobs have in memory too. */
  constructor(
    blobs: Blobs,
    private readonly schema: Schema,
    cache: BlobCache,
    { arrays, ...most }: Partial<Most> & { readonly arrays?: SharedArrays | undefined } = {},
  ) {
    this.most = { ...MOST, ...most };
    this.blobs = new CheckedBlobs(blobs, cache, arrays);
    this.segments = new OpenSegments(this.blobs, schema);
    this.manifest = new Manifest(this.blobs, (segment) => {
      this.segments.forget(segment);
    });
    this.sharing = new Sharing(schema, this.manifest, this.segments, this.most.shared);
  }

  /** Does some work in a write transaction, in which nobody else writes: it reads less again. */
  exclusively<Result>(work: () => Result): Result {
    return this.manifest.exclusively(work);
  }

  /** Applies changes, one per partition. To be called in a write transaction. */
  write(changes: readonly PartitionChange[]): void {
    const { segments } = this;
    this.update(this.sharing.placed(changes), (before, { partition, joining, deletions, added }) => {
      const now = segments.withoutDocuments(segments.withJoining(before, joining), deletions);
      return segments.withDocuments(now, partition, added);
    });
  }

  /** Saves what becomes of some partitions, and of the rest of the manifest. */
  private update<One extends { readonly partition: number }>(
    ones: readonly One[],
    updated: (before: PartitionDraft, one: One) => PartitionDraft,
    others: Partial<Root> = {},
  ): void {
    const { root, partitions } = this.manifest.read();
    let { next, replaced } = root;
    const changed = new Map<number, readonly SegmentState[]>();
    for (const one of ones) {
      const segments = partitions.get(one.partition) ?? [];
      const now = updated({ next, replaced, segments }, one);
      ({ next, replaced } = now);
      if (now.segments !== segments) changed.set(one.partition, now.segments);
    }
    if (changed.size > 0 || Object.keys(others).length > 0)
      this.manifest.save({ ...others, next, replaced }, changed);
  }

  /**
   * Like `write`, for an index that is not searched until `build` has nothing left to do: no small segments are made.
   */
  record(changes: readonly PartitionChange[]): void {
    const { recorded = NOTHING_RECORDED } = this.manifest.root();
    const bytes = encodeChanges(changes);
    this.blobs.write(recordedName(recorded.next), bytes);
    const docs = changes.reduce((sum, { added }) => sum + added.length, recorded.docs);
    this.manifest.save({
      recorded: { ...recorded, next: recorded.next + 1, docs, bytes: recorded.bytes + bytes.length },
    });
  }

  /**
   * Makes segments of the next changes that were recorded, one per partition, like a merge. `isAll`: of fewer too than
   * make a large one.
   */
  build(isAll: boolean): Merge | undefined {
    const { recorded = NOTHING_RECORDED, writing, next } = this.manifest.root();
    const isDue = isAll || recorded.docs >= this.most.built || recorded.bytes >= BUILT_BYTES;
    if (writing.length > 0 || recorded.first === recorded.next || !isDue) return undefined;
    const { end, bytes, docs, partitions } = this.recordedFrom(recorded);
    const changes = Array.from(partitions, ([partition, { joining, deleted, added }]) => ({
      partition,
      joining,
      deleted: [...deleted],
      added: [...added.values()],
    }));
    const parts = this.sharing.placed(changes).map((part, at) => ({ ...part, id: next + at }));
    const targets = parts.map(({ id }) => id);
    this.manifest.save({ next: next + targets.length, writing: targets });
    const { blobs, schema, segments } = this;
    return {
      *steps() {
        for (const { id, added } of parts)
          yield* writeSegment(blobs, id, added.length, (into) => writeDocuments(into, id, schema, added));
      },
      isGivenUp: () => this.isGivenUp(targets),
      commit: () => {
        if (this.isGivenUp(targets)) {
          this.giveUp(targets);
          return;
        }
        for (let number = recorded.first; number < end; number += 1) this.blobs.remove(recordedName(number));
        const { recorded: all = NOTHING_RECORDED } = this.manifest.root();
        this.update(
          parts,
          (before, { id, partition, joining, deletions, added: { length } }) => {
            const now = segments.withoutDocuments(segments.withJoining(before, joining), deletions);
            const added = { id, partition, docs: length, deleted: 0, version: 0 };
            return withoutEmpty({ ...now, segments: [...now.segments, added] });
          },
          {
            writing: [],
            recorded: { first: end, next: all.next, docs: all.docs - docs, bytes: all.bytes - bytes },
          },
        );
      },
    };
  }

  /** Whether there are changes that no segment has yet. */
  isRecorded(): boolean {
    const { first, next } = this.manifest.root().recorded ?? NOTHING_RECORDED;
    return first < next;
  }

  /** The first changes that are recorded, up to one beyond what a segment is made of. */
  private recordedFrom({ first, next }: NonNullable<Root['recorded']>): {
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
    const { writing } = this.manifest.root();
    return targets.some((target) => !writing.includes(target));
  }

  /** Some blobs of these may have been written after those before were swept. */
  private giveUp(targets: readonly number[]): void {
    const { replaced } = this.manifest.root();
    const more = targets.filter((target) => !replaced.includes(target));
    if (more.length > 0) this.manifest.save({ replaced: [...replaced, ...more] });
  }

  /**
   * A merge that is due: of `most` or more segments of a similar size, or of one that is mostly deleted. There is one
   * merge at a time: until it is committed, or given up by `recover`, there is no other.
   */
  merge(most: number): Merge | undefined {
    const { root, partitions } = this.manifest.read();
    if (root.writing.length > 0) return undefined;
    for (const partition of this.manifest.crowded(most)) {
      const segments = partitions.get(partition) ?? [];
      const partial = segments.find(isMostlyDeleted);
      if (partial !== undefined) return this.mergeOf([partial]);
      for (const similar of tiersOf(segments)) {
        const together = this.together(similar);
        if (similar.length >= most && together.length > 1) return this.mergeOf(together);
      }
    }
    return undefined;
  }

  /**
   * A merge of all segments of a partition, by default of any one, or of as many as may become one; undefined if none
   * of them may be merged with another or has deleted documents, or as for `merge`.
   */
  mergeAll(wanted?: number): Merge | undefined {
    const { root, partitions } = this.manifest.read();
    if (root.writing.length > 0) return undefined;
    for (const partition of wanted === undefined ? this.manifest.unmerged() : [wanted]) {
      const segments = partitions.get(partition) ?? [];
      const together = this.together(segments);
      if (together.length > 1) return this.mergeOf(together);
      const partial = segments.find(({ deleted }) => deleted > 0);
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
    const { replaced, writing } = this.manifest.root();
    if (replaced.length === 0 || writing.length > 0) return false;
    let swept = 0;
    do if (!this.blobs.remove(`${replaced[swept]}/`)) swept += 1;
    while (swept < replaced.length && goesOn());
    if (swept > 0) this.manifest.save({ replaced: replaced.slice(swept) });
    return true;
  }

  /** Gives up merges that a crash ended: their blobs are left to `sweep`. */
  recover(): void {
    const { writing, replaced } = this.manifest.root();
    if (writing.length > 0) this.manifest.save({ writing: [], replaced: [...replaced, ...writing] });
  }

  /** `partitions`: those to search; by default all. `check` is called every few ms, and may throw to stop the query. */
  query(
    query: IndexQuery,
    partitions?: ReadonlySet<number>,
    check: () => void = () => undefined,
  ): IndexAnswer {
    return this.searching(partitions, (searched) => answer(searched, this.schema, query, check));
  }

  /**
   * Counts values among the matching documents: in the order of the facets, of which a column has at most 250 bounds.
   */
  countFacets(
    filter: IndexFilter,
    facets: readonly IndexFacet[],
    partitions?: ReadonlySet<number>,
    check: () => void = () => undefined,
  ): readonly (readonly Count[])[] {
    return this.searching(partitions, (searched) =>
      countFacets(searched, this.schema, filter, facets, check),
    );
  }

  /** All matching documents in batches, in any order: their rows, and their numbers in some columns. */
  *walk(
    filter: IndexFilter,
    columns: readonly string[],
    partitions?: ReadonlySet<number>,
    check: () => void = () => undefined,
  ): Generator<Walked, undefined> {
    for (const one of this.sharing.searched(partitions)) {
      yield* walked(matchesOf(one, this.schema, filter, check), columns, check);
      one.segment.release();
    }
  }

  /** The rows of all matching documents by id, ascending, from the first one after an id on. */
  rows(
    filter: IndexFilter,
    partitions?: ReadonlySet<number>,
    after?: string,
    check: () => void = () => undefined,
  ): Generator<number, undefined> {
    const all = this.sharing.searched(partitions).map((one) => matchesOf(one, this.schema, filter, check));
    return rowsById(all, after, check);
  }

  /** To be called after a write transaction was rolled back, or at the end: what was read is forgotten. */
  forget(): void {
    this.segments.forgetAll();
    this.manifest.forget();
    this.blobs.clear();
  }

  /** Live documents and segments. */
  size(): { readonly docs: number; readonly segments: number } {
    const segments = [...this.manifest.read().partitions.values()].flat();
    return {
      docs: segments.reduce((sum, { docs, deleted }) => sum + docs - deleted, 0),
      segments: segments.length,
    };
  }

  private searching<Result>(
    partitions: ReadonlySet<number> | undefined,
    work: (searched: readonly Searched[]) => Result,
  ): Result {
    return reusingBitmaps(() => {
      const searched = this.sharing.searched(partitions);
      try {
        return work(searched);
      } finally {
        for (const { segment } of searched) segment.release();
      }
    });
  }

  private mergeOf(states: readonly SegmentState[]): Merge {
    const { next: target, writing } = this.manifest.root();
    this.manifest.save({ next: target + 1, writing: [...writing, target] });
    const sources = states.map((state) => ({
      // One of its own, so that the cache stays as it is and its memory is freed with the merge.
      segment: new Segment(this.blobs, state.id, state.docs, this.schema, false),
      deleted: this.segments.open(state).deleted,
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
    const { partition = 0 } = merged[0] ?? {};
    const { writing } = this.manifest.root();
    this.update(
      [{ partition }],
      (before) => {
        const late: OrdinalSet[] = [];
        for (const [source, { id, docs }] of merged.entries()) {
          const now = before.segments.find((one) => one.id === id);
          const all = now === undefined ? setOf(docs, ordinalsBelow(docs)) : this.segments.open(now).deleted;
          late.push(merge.movedSet(source, all));
        }
        const added = this.segments.withDeleted(
          { id: target, partition, docs: merge.docs, deleted: 0, version: 0 },
          union(merge.docs, late),
        );
        const ids = new Set(merged.map(({ id }) => id));
        const kept = before.segments.filter(({ id }) => !ids.has(id));
        const replaced = [...before.replaced, ...ids];
        return withoutEmpty({ ...before, segments: [...kept, added], replaced });
      },
      { writing: writing.filter((one) => one !== target) },
    );
  }
}

/** What becomes of the documents of a partition. */
interface RecordedPartition {
  readonly joining: PartitionChange['joining'][number][];
  readonly deleted: Set<string>;
  readonly added: Map<string, IndexedDocument>;
}

/** A document with another number in a column in which it was a group of its own. */
function joined(document: IndexedDocument, column: number, number: number): IndexedDocument {
  if (!((document.numbers[column] ?? NaN) < 0)) return document;
  return { ...document, numbers: Array.from(document.numbers).with(column, number) };
}
