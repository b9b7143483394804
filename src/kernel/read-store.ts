import { type Position } from './event';
import {
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  type QueryOptions,
  type Results,
  type Search,
} from './query';

/**
 * What a field is for:
 * - `number`: a safe integer, to filter by values and bounds, to sort and to group orders by;
 * - `keyword`: one string or several, compared whole and exactly;
 * - `column`: one string, compared like a keyword, that results can also be grouped and counted by;
 * - `words`: words already cut and folded by the caller (letters, digits, `_`), to be found one by one.
 */
export type FieldType = 'number' | 'keyword' | 'column' | 'words';

export type FieldValue = number | string | readonly string[];

/** Declares a collection of documents. The declaration is code: another one is another `version`. */
export interface CollectionSpec {
  /** Permanent, lower case and dashes. */
  readonly name: string;
  readonly version: number;
  readonly fields: Readonly<Record<string, FieldType>>;
  /** The `number` field given in most queries (products: `feedId`): documents of one value lie together. */
  readonly partition?: string;
  /** `number` fields that listings are often sorted by, to be indexed (within a partition). */
  readonly sorts?: readonly string[];
}

/** A document to be written: what is declared to look for it by, and a body that no engine looks into. */
export interface Document {
  /** Ids are in the order of their bytes in UTF-8, of which they have at most `MOST_ID_BYTES`. */
  readonly id: string;
  /** Only declared fields; absent ones match no condition. A partition field must be there. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly body: string;
}

export const MOST_ID_BYTES = 32_000;

/** One document's newest state as of a log position: written or removed. */
export type Write = { readonly version: Position } & (
  { readonly put: Document } | { readonly remove: string }
);

/** Some documents of a snapshot, and what they are some of. */
export interface SnapshotBatch {
  readonly found: readonly Found[];
  /** Some of the documents that were asked for before all others. */
  readonly samples?: readonly Found[];
  /** How many documents match in all. */
  readonly total: number;
  /** The snapshot surely has everything that was written with a checkpoint up to this one; it may have more. */
  readonly checkpoint: Position;
}

/** A generation: one physical copy of a collection. One is live, others are being built or kept for rollback. */
export interface Generation {
  readonly collection: string;
  readonly version: number;
  /** Rises with each generation of the collection, never used again. */
  readonly number: number;
  readonly state: 'building' | 'live' | 'retired';
}

/** Which copy is meant: the live one, or the generation of this number. */
export interface Target {
  readonly collection: string;
  readonly generation?: number;
}

/** A right to do something alone, until `expires` (epoch ms). */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly expires: number;
}

/** How far apart (ms) the clocks of processes that share a store may be. */
export const MOST_SKEW_MS = 60_000;

/**
 * Whether a lease is held at `now`. One that lasts longer than `ttl` from now, and than clocks may be apart, comes from
 * a clock that was wrong, or was stepped back since: it is void.
 */
export function isHeld({ expires }: Pick<Lease, 'expires'>, now: number, ttl: number): boolean {
  return expires > now && expires <= now + ttl + MOST_SKEW_MS;
}

/** A document has a field that is not declared, a value of another type, no partition, or an id that is too long. */
export class UndeclaredField extends Error {
  override readonly name = 'UndeclaredField';
}

/** There is no such generation, or none of the collection is live. */
export class NoGeneration extends Error {
  override readonly name = 'NoGeneration';
}

/**
 * Documents folded from the log, to be looked for: disposable, since a rebuild makes them again.
 *
 * Every engine passes `test/contracts/read-store.ts`. All methods may raise `EngineUnavailable`; those with a
 * target `NoGeneration`. Queries see what was written before them (after `refresh`, where an engine needs it). A
 * generation that is not finished takes writes, `get`, `checkpoint` and `refresh`; to query it is an error.
 */
export abstract class ReadStore {
  // Generations ---------------------------------------------------------------------------------------------

  /**
   * Makes an empty generation. Until `finish` it is filled fast: what searching needs is built there. Who builds holds a
   * lease: a store does not know whether anybody still does.
   */
  abstract create(spec: CollectionSpec): Promise<Generation>;
  /** Builds what searching needs and may be called again after a crash; a finished one takes live writes well. */
  abstract finish(generation: Generation): Promise<void>;
  /** Makes a finished generation the live one, atomically: a query sees the old or the new, never both. The old one retires. */
  abstract swap(generation: Generation): Promise<void>;
  /**
   * Removes a generation that is not live; queries under way on it end well. What they need of it may stay until
   * `sweep`.
   */
  abstract drop(generation: Generation): Promise<void>;
  /**
   * Frees what dropped generations and crashes have left, as soon as no query can be under way on it; generations that
   * there are stay, those that are being built too. May be called at any time, by several processes at once: to be
   * called now and then.
   */
  abstract sweep(): Promise<void>;
  /** All there are of a collection, oldest first. */
  abstract generations(collection: string): Promise<readonly Generation[]>;

  // Writing -------------------------------------------------------------------------------------------------

  /**
   * Writes a batch and, with it, how far the log has been folded. A write whose version is older than what the
   * document (or its removal) bears changes nothing; one of the same version writes the same again. The
   * checkpoint is never ahead of the documents and never moves backwards: an older one changes nothing, and the
   * documents are written all the same. `UndeclaredField` writes nothing of the batch.
   */
  abstract write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void>;
  /**
   * How far the log has been folded into it: `START` for a new generation. An unreadable generation fails its own
   * checkpoint only, not those requested at the same time.
   */
  abstract checkpoint(target: Target): Promise<Position>;
  /** Makes everything written so far visible to queries. */
  abstract refresh(target: Target): Promise<void>;

  // Reading -------------------------------------------------------------------------------------------------
  // Queries raise `QueryTooLong`, and the reason of their signal.

  /** The documents of these ids that are there, in no order; sees every write at once. */
  abstract get(target: Target, ids: readonly string[], options?: QueryOptions): Promise<readonly Found[]>;
  /** One page in order, and the number of all that match. */
  abstract search(target: Target, search: Search, options?: QueryOptions): Promise<Results>;
  /** One page of groups, each with its first members in order, and the number of all groups. */
  abstract searchGroups(target: Target, search: GroupSearch, options?: QueryOptions): Promise<GroupResults>;
  abstract count(target: Target, filter: Filter): Promise<number>;
  /** How many of the matching documents have each value of a `column` field, so many values at a time. */
  abstract countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts>;
  /**
   * Every matching document from one snapshot, by id ascending, in batches. The first batch is empty and comes before
   * any document is read. What is shown is of that moment until the iteration ends, but an engine need not keep the
   * snapshot open for as long: it may copy what has not been read yet. Where `samplesOf` names a `column` field, one
   * matching document of each of its values comes before that empty batch, as `samples` of others.
   */
  abstract snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncIterable<SnapshotBatch>;

  /**
   * Every document that matches, by id ascending, in batches, not of one moment: one that is written meanwhile comes at
   * most once, as it was or as it is. All are of the generation that was meant when it began. It may take any time.
   */
  async *scan(target: Target, filter: Filter): AsyncGenerator<readonly Found[]> {
    for await (const { found } of this.snapshot(target, filter)) if (found.length > 0) yield found;
  }

  // Leases --------------------------------------------------------------------------------------------------

  /**
   * Takes a lease that nobody holds at `now` (`isHeld`), or renews one's own: undefined when another holds it.
   * It lasts until `now + ttl` (ms). All who ask for a lease of one name give the same `ttl`.
   */
  abstract lease(name: string, owner: string, now: number, ttl: number): Promise<Lease | undefined>;
  /** Who holds it at `now`, if anybody does. */
  abstract holder(name: string, now: number, ttl: number): Promise<string | undefined>;
  /** Gives it back as it was given: one that was renewed or has gone to another since stays as it is. */
  abstract release(lease: Lease): Promise<void>;

  /**
   * Ends it; may be called again. What is under way is answered or raises `EngineUnavailable`, which everything that is
   * asked later raises too, snapshots and scans under way included.
   */
  abstract close(): Promise<void>;
}
