import { bytesOf, compareBytes } from './bytes';
import { type PartitionChange, type Manifest, type SegmentState, SHARED } from './manifest';
import { anyTokenSet, type Searched } from './matches';
import { type Deletion, type OpenSegments } from './open-segments';
import { difference } from './sets';
import { type IndexedDocument, type Schema } from './segment';

/** A change of the segments of a partition, or of the shared ones. */
interface Placed {
  readonly partition: number;
  readonly joining: PartitionChange['joining'];
  readonly deletions: readonly Deletion[];
  readonly added: readonly IndexedDocument[];
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
