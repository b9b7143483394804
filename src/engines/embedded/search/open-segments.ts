import { difference, everything, type OrdinalSet, setOf, union } from './sets';
import { bytesOf, compareBytes } from './bytes';
import { type PartitionChange, type Manifest, type SegmentState, SHARED } from './manifest';
import { anyTokenSet, type Searched } from './matches';
import { SegmentMerge } from './merge';
import { type IndexedDocument, type Schema, Segment, writeDocuments, writeSegment } from './segment';
import { type CheckedBlobs } from './storage';

/** A segment in use, with its deleted documents as of a version. */
export interface Opened extends Searched {
  readonly version: number;
}

/** The segments of a partition in a write transaction, and what these take of the manifest. */
export interface PartitionDraft {
  readonly next: number;
  readonly replaced: readonly number[];
  readonly segments: readonly SegmentState[];
}

/** Ids of documents to delete. `token`: they are only in segments that have it. */
interface Deletion {
  readonly ids: readonly string[];
  readonly token?: Uint8Array;
}

/** A change of the segments of a partition, or of the shared ones. */
interface Placed {
  readonly partition: number;
  readonly joining: PartitionChange['joining'];
  readonly deletions: readonly Deletion[];
  readonly added: readonly IndexedDocument[];
}

/** The segments that are in use, and what writes make of those of a partition. Raises `DamagedIndex`. */
export class OpenSegments {
  private readonly opened = new Map<number, Opened>();

  constructor(
    private readonly blobs: CheckedBlobs,
    private readonly schema: Schema,
  ) {}

  open(state: SegmentState): Opened {
    const open = this.opened.get(state.id);
    if (open?.version === state.version) return open;
    const segment = open?.segment ?? new Segment(this.blobs, state.id, state.docs, this.schema);
    const opened = { segment, version: state.version, deleted: segment.deleted(state.version) };
    this.opened.set(state.id, opened);
    return opened;
  }

  forget(segment: number): void {
    this.opened.delete(segment);
    this.blobs.arrays?.forget(`${segment}/`);
  }

  forgetAll(): void {
    this.opened.clear();
    this.blobs.arrays?.forget('');
  }

  /** Adds documents, as a new segment. */
  withDocuments(
    before: PartitionDraft,
    partition: number,
    documents: readonly IndexedDocument[],
  ): PartitionDraft {
    if (documents.length === 0) return before;
    const { next, segments } = before;
    const steps = writeSegment(this.blobs, next, documents.length, (into) =>
      writeDocuments(into, next, this.schema, documents),
    );
    while (steps.next().done !== true);
    const added = { id: next, partition, docs: documents.length, deleted: 0, version: 0 };
    return { ...before, next: next + 1, segments: [...segments, added] };
  }

  /** Documents that join a group are written again, into a segment of their own. */
  withJoining(before: PartitionDraft, joining: PartitionChange['joining']): PartitionDraft {
    let now = before;
    for (const state of joining.length === 0 ? [] : before.segments) {
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
      const { partition } = state;
      const added = { id: next, partition, docs: merge.docs, deleted: 0, version: 0 };
      now = withoutEmpty({ ...now, next: next + 1, segments: [...segments, added] });
    }
    return now;
  }

  /** Deletes documents; unknown ones are ignored. */
  withoutDocuments(before: PartitionDraft, deletions: readonly Deletion[]): PartitionDraft {
    let rest = deletions.filter(({ ids }) => ids.length > 0);
    const segments = before.segments.map((state) => {
      if (rest.length === 0) return state;
      const { segment, deleted } = this.open(state);
      const found = new Set<number>();
      rest = rest.flatMap((deletion) => {
        const { ids, token } = deletion;
        if (token !== undefined && segment.terms.find(token) === undefined) return [deletion];
        const others = ids.filter((id) => {
          const ordinal = segment.ordinalOf(id);
          if (ordinal === undefined || deleted.has(ordinal)) return true;
          found.add(ordinal);
          return false;
        });
        return others.length === 0 ? [] : [{ ...deletion, ids: others }];
      });
      return this.withDeleted(state, setOf(state.docs, Uint32Array.from(found).sort()));
    });
    const isSame = segments.every((state, at) => state === before.segments[at]);
    return isSame ? before : withoutEmpty({ ...before, segments });
  }

  /** Adds to the deleted documents of a segment. */
  withDeleted(state: SegmentState, more: OrdinalSet): SegmentState {
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
}

/** Segments without live documents need no merge. */
export function withoutEmpty(draft: PartitionDraft): PartitionDraft {
  const isEmpty = ({ docs, deleted }: SegmentState): boolean => docs === deleted;
  const empty = draft.segments.filter(isEmpty);
  if (empty.length === 0) return draft;
  return {
    ...draft,
    segments: draft.segments.filter((state) => !isEmpty(state)),
    replaced: [...draft.replaced, ...empty.map(({ id }) => id)],
  };
}

/**
 * Which documents are in shared segments: those of partitions that were small when they were added. The documents of a
 * partition are found in these by its token.
 */
export class Sharing {
  /** `most`: how many documents of a partition, at most, are in shared segments. */
  constructor(
    private readonly schema: Schema,
    private readonly manifest: Manifest,
    private readonly segments: OpenSegments,
    private readonly most: number,
  ) {}

  /** The changes of the segments of each partition, and of the shared ones. */
  placed(changes: readonly PartitionChange[]): readonly Placed[] {
    const { partitions } = this.manifest.read();
    const placed: Placed[] = [];
    const joiningShared: PartitionChange['joining'][number][] = [];
    const deletions: Deletion[] = [];
    const addedShared: IndexedDocument[] = [];
    for (const { partition, joining, deleted, added } of changes) {
      const token = this.tokenOf(partition);
      const isShared =
        token !== undefined &&
        (partitions.get(partition) ?? []).length === 0 &&
        (added.length === 0 || this.isSmall(token, deleted, this.most - added.length));
      if (!isShared) placed.push({ partition, joining, deletions: [{ ids: deleted }], added });
      if (token === undefined) continue;
      // It may have been small.
      joiningShared.push(...joining);
      if (deleted.length > 0) deletions.push({ ids: deleted, token });
      if (isShared) for (const document of added) addedShared.push(document);
    }
    if (deletions.length + joiningShared.length + addedShared.length > 0)
      placed.push({ partition: SHARED, joining: joiningShared, deletions, added: addedShared });
    return placed;
  }

  /** The segments to search for documents of some partitions; undefined for all. */
  searched(wanted: ReadonlySet<number> | undefined): readonly Searched[] {
    const { partitions } = this.manifest.read();
    const open = (states: readonly SegmentState[] = []): readonly Searched[] =>
      states.map((state) => this.segments.open(state));
    if (wanted === undefined) return open([...partitions.values()].flat());
    const own = Array.from(wanted).flatMap((partition) =>
      partition === SHARED ? [] : open(partitions.get(partition)),
    );
    const tokens = Array.from(wanted, (partition) => this.tokenOf(partition) ?? []);
    const sorted = tokens.flat().sort(compareBytes);
    const shared = open(partitions.get(SHARED)).map((one) => ({
      ...one,
      among: anyTokenSet(one.segment, sorted),
    }));
    return [...own, ...shared.filter(({ among }) => among.count > 0)];
  }

  private tokenOf(partition: number): Uint8Array | undefined {
    const token = this.schema.partitionToken?.(partition);
    return token === undefined ? undefined : bytesOf(token);
  }

  /** Whether shared segments have at most `most` documents of a partition besides those that are deleted now. */
  private isSmall(token: Uint8Array, deleted: readonly string[], most: number): boolean {
    const shared = (this.manifest.read().partitions.get(SHARED) ?? []).flatMap((state) => {
      const { segment, deleted: gone } = this.segments.open(state);
      const entry = segment.terms.find(token);
      return entry === undefined ? [] : { segment, gone, entry };
    });
    // Reading the documents is seldom needed.
    if (shared.reduce((sum, { entry }) => sum + entry.count, 0) <= most) return true;
    let left = 0;
    for (const { segment, gone, entry } of shared) {
      const live = difference(segment.terms.set(entry), gone);
      left += live.count;
      for (const id of live.count === 0 ? [] : deleted) {
        const ordinal = segment.ordinalOf(id);
        if (ordinal !== undefined && live.has(ordinal)) left -= 1;
      }
    }
    return left <= most;
  }
}
