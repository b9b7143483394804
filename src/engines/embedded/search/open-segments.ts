import { difference, everything, type OrdinalSet, setOf, union } from './sets';
import { type PartitionChange, type SegmentState } from './manifest';
import { type Searched } from './matches';
import { SegmentMerge } from './merge';
import { type IndexedDocument, type Schema, Segment, writeDocuments, writeSegment } from './segment';
import { type CheckedBlobs } from './storage';

/** A segment in use, with its deleted documents as of a version. */
export interface Opened extends Searched {
  readonly version: number;
}

/** The segments of a partition in a write transaction, and what these take of the manifest. */
export interface Draft {
  readonly next: number;
  readonly replaced: readonly number[];
  readonly segments: readonly SegmentState[];
}

/** Ids of documents to delete. `token`: they are only in segments that have it. */
export interface Deletion {
  readonly ids: readonly string[];
  readonly token?: Uint8Array;
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
  withDocuments(before: Draft, partition: number, documents: readonly IndexedDocument[]): Draft {
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
  withJoining(before: Draft, joining: PartitionChange['joining']): Draft {
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
  withoutDocuments(before: Draft, deletions: readonly Deletion[]): Draft {
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
export function withoutEmpty(draft: Draft): Draft {
  const isEmpty = ({ docs, deleted }: SegmentState): boolean => docs === deleted;
  const empty = draft.segments.filter(isEmpty);
  if (empty.length === 0) return draft;
  return {
    ...draft,
    segments: draft.segments.filter((state) => !isEmpty(state)),
    replaced: [...draft.replaced, ...empty.map(({ id }) => id)],
  };
}
