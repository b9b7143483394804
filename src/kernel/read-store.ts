import { NamedError } from './fault';
import { type Position } from './event';
import { type Lease } from './leases';
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
  type Totals,
  type TotalsSearch,
  type ValueCount,
  type ValuesSearch,
} from './query';

/**
 * - `number`: a safe integer, for filters by value or range, and for sorting.
 * - `keyword`: one or several strings, matched whole and exactly.
 * - `column`: one string, matched like a keyword; results can be grouped and counted by it.
 * - `text`: one string of at most `MAX_TEXT` UTF-16 units, only for sorting: by its bytes in UTF-8.
 * - `words`: words that the caller has tokenized and normalized (letters, digits, `_`), matched one by one.
 */
export type FieldType = 'number' | 'keyword' | 'column' | 'text' | 'words';

export const MAX_TEXT = 1_000;

export type FieldValue = number | string | readonly string[];

/** Declares a collection of documents. Whenever the declaration changes, so must its `version`. */
export interface CollectionSpec {
  /** Permanent: lower-case letters and dashes. */
  readonly name: string;
  readonly version: number;
  readonly fields: Readonly<Record<string, FieldType>>;
  /**
   * The `number` field that most queries filter by (products: `feedId`). Documents with the same value are stored
   * together.
   */
  readonly partition?: string;
  /**
   * `number` fields to index, within a partition, because listings are often sorted by them: first the one that most
   * listings are sorted by, greatest first.
   */
  readonly sorts?: readonly string[];
  /** `keyword` fields, and `number` fields that are not in `sorts`, whose values are counted (`countValues`). */
  readonly facets?: readonly string[];
}

/** Longer values, in UTF-16 units, are not listed where values are counted. */
export const MAX_COUNTED = 200;

/** A document to write: fields for queries, and a body that is opaque to the engine. */
export interface Document {
  /** At most `MAX_ID_BYTES` bytes in UTF-8. Ids are ordered by these bytes. */
  readonly id: string;
  /** Only declared fields. An absent field matches no filter; the partition field is required. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly body: string;
}

export const MAX_ID_BYTES = 32_000;

/**
 * The state of one document as of a log position: written or removed. With `forget`, the engine need not remember the
 * removal, so an older write may restore the document. It is meant for documents that expire, which are then removed
 * again.
 */
export type Write = { readonly version: Position } & (
  { readonly put: Document } | { readonly remove: string; readonly forget?: true }
);

/** A batch of documents of a snapshot. */
export interface SnapshotBatch {
  readonly found: readonly Found[];
  /** A part of the samples (`samplesOf`). */
  readonly samples?: readonly Found[];
  /** The number of all matching documents. */
  readonly total: number;
  /** The snapshot includes every write up to this checkpoint. It may include later ones. */
  readonly checkpoint: Position;
}

/** One physical copy of a collection. One is live; others are being built, or retained for a rollback. */
export interface Generation {
  readonly collection: string;
  readonly version: number;
  /** Ascending within the collection, never reused. */
  readonly number: number;
  readonly state: 'building' | 'live' | 'retired';
}

/** A copy of a collection: the given generation, by default the live one. */
export interface Target {
  readonly collection: string;
  readonly generation?: number;
}

/** Addresses exactly this generation, live or not. */
export function targetOf({ collection, number }: Generation): Target {
  return { collection, generation: number };
}

/** What a query reads (`QueryOptions.generations`). `live` returns the number of the live generation. */
export function pinned(target: Target, { generations }: QueryOptions, live: () => number): Target {
  if (generations === undefined || target.generation !== undefined) return target;
  const { collection } = target;
  const generation = generations.get(collection) ?? live();
  generations.set(collection, generation);
  return { collection, generation };
}

/** A document has an undeclared field, a value of the wrong type, no partition, or an id that is too long. */
export class UndeclaredField extends NamedError {}

/** The generation does not exist, or the collection has no live one, or none of the version that is needed. */
export class NoGeneration extends NamedError {
  readonly collection: string;
  /** `version`: only one of this version would do. */
  constructor({ collection, generation }: Target, version?: number) {
    const ofVersion = version === undefined ? '' : ` of version ${version}`;
    super(
      generation === undefined
        ? `no generation of ${collection}${ofVersion} is live`
        : `${collection} has no generation ${generation}`,
    );
    this.collection = collection;
  }
}

/**
 * Searchable documents, projected from the log. Disposable: a rebuild recreates them.
 *
 * Every engine passes `test/contracts/read-store.ts`. Any method may raise `EngineUnavailable`, and every method with a
 * target `NoGeneration`. Queries see all earlier writes, in engines that need it after `refresh`. A generation that is
 * still building accepts `write`, `get`, `checkpoint` and `refresh`, and refuses queries.
 */
export abstract class ReadStore {
  // Generations ---------------------------------------------------------------------------------------------

  /**
   * Creates an empty generation, optimized for bulk writes until `finish` builds its indexes. The store does not track
   * whether its builder is still alive: builders hold a lease.
   */
  abstract create(spec: CollectionSpec): Promise<Generation>;
  /** Builds the indexes and switches to live writes. May be repeated after a crash. */
  abstract finish(generation: Generation): Promise<void>;
  /**
   * Makes a finished generation live, atomically: a query sees either the old one or the new one. The old one is
   * retired.
   */
  abstract swap(generation: Generation): Promise<void>;
  /**
   * Retires a generation if it is live, without another one in its place: queries raise `NoGeneration` until one is
   * swapped in.
   */
  abstract retire(generation: Generation): Promise<void>;
  /**
   * Removes a generation, but not one that is live by now: whoever built it was given up too early. Queries in progress
   * on it complete; its files may remain until `sweep`.
   */
  abstract drop(generation: Generation): Promise<void>;
  /**
   * Frees what dropped generations and crashes left behind, once no query can be using it. Existing generations are not
   * affected, including those being built. To be called periodically; several processes may call it at once.
   */
  abstract sweep(): Promise<void>;
  /** All generations of some collections, those of each oldest first. */
  abstract generations(...collections: readonly string[]): Promise<readonly Generation[]>;
  /** About how many bytes of disk space a generation takes; 0 once it is dropped. */
  abstract size(generation: Generation): Promise<number>;

  // Writing -------------------------------------------------------------------------------------------------

  /**
   * Applies a batch of writes together with the checkpoint: how far the log has been projected. A write older than the
   * stored version of its document, or of the document's removal (unless that is forgotten), is ignored; one of the
   * same version is applied again.
   *
   * The checkpoint is never ahead of the documents and never moves backwards: an older one is ignored, while its writes
   * are applied. `UndeclaredField` rejects the whole batch.
   */
  abstract write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void>;
  /**
   * How far the log has been projected into the target: `START` for a new generation. An unreadable generation fails
   * its own checkpoint only, not those requested at the same time.
   */
  abstract checkpoint(target: Target): Promise<Position>;
  /**
   * Makes all writes so far visible to queries. With `upTo` only those up to it need be: a position that `checkpoint`
   * has returned, or up to which all documents are written, and the checkpoint of the last one. That takes no time
   * where none was written since the last refresh.
   */
  abstract refresh(target: Target, upTo?: Position): Promise<void>;

  // Reading -------------------------------------------------------------------------------------------------
  // Queries raise `QueryTooLong`, and the reason of their signal.

  /** The existing documents with these ids, in no particular order. Sees every write at once, without `refresh`. */
  abstract get(target: Target, ids: readonly string[], options?: QueryOptions): Promise<readonly Found[]>;
  /** The versions of the removals of documents with these ids, by id, as far as they are remembered. Like `get`. */
  abstract removals(target: Target, ids: readonly string[]): Promise<ReadonlyMap<string, Position>>;
  /** One page of the matching documents in order, and the number of all of them. */
  abstract search(target: Target, search: Search, options?: QueryOptions): Promise<Results>;
  /** One page of groups, each with its first members in order, and the number of all groups. */
  abstract searchGroups(target: Target, search: GroupSearch, options?: QueryOptions): Promise<GroupResults>;
  abstract count(target: Target, filter: Filter): Promise<number>;
  /** Counts the matching documents per value of a `column` field, one page of values at a time. */
  abstract countGroups(target: Target, wanted: GroupCount, options?: QueryOptions): Promise<GroupCounts>;
  /**
   * Totals per combination of values, in ascending order of the values; exact up to 2^53. Meant for few combinations.
   */
  abstract totals(target: Target, wanted: TotalsSearch, options?: QueryOptions): Promise<readonly Totals[]>;
  /** How many matching documents have each value, per facet; exact. Raises `UndeclaredField`. */
  abstract countValues(
    target: Target,
    wanted: ValuesSearch,
    options?: QueryOptions,
  ): Promise<readonly (readonly ValueCount[])[]>;
  /**
   * All matching documents as of one moment, in batches, by id ascending. The first batch is empty and comes before any
   * document is read. The engine need not keep a snapshot open for the whole iteration: it may copy the rest.
   *
   * If `samplesOf` names a `column` field, one matching document per value of that field comes first, as `samples` of
   * the batches before the empty one.
   */
  abstract snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncIterable<SnapshotBatch>;

  /**
   * All matching documents of one generation, in batches, by id ascending, but not as of one moment: a document written
   * during the scan is returned at most once, in its old or new state. The scan may take any time. `after`: only
   * documents with greater ids (by their bytes), to continue one that has ended.
   */
  abstract scan(target: Target, filter: Filter, after?: string): AsyncIterable<readonly Found[]>;

  // Leases: for work on the store itself. Those for work on the log are `Leases`. ---------------------------

  /**
   * Acquires or renews a lease until `now() + ttl` (ms); undefined while another owner holds it, and up to
   * `ttl` after that. `now` is looked at once what is stored has been read. Every caller passes the same `ttl`
   * for leases of the same name.
   */
  abstract lease(name: string, owner: string, now: () => number, ttl: number): Promise<Lease | undefined>;
  /**
   * The owner of an active lease at `now`, as far as it is known: by the first look at another
   * machine's, its clock counts.
   */
  abstract holder(name: string, now: number, ttl: number): Promise<string | undefined>;
  /** Releases a lease. Does nothing if it was renewed, or acquired by another owner, since. */
  abstract release(lease: Lease): Promise<void>;

  /**
   * Closes the store; may be called again. Calls in progress complete or raise `EngineUnavailable`. Later calls raise
   * it too, and so do open snapshots and scans.
   */
  abstract close(): Promise<void>;
}

/**
 * For what documents of former versions lack: until a server has built those of this version, it would be taken for
 * something that does not exist. Raises `NoGeneration`.
 */
export async function requireVersion(store: ReadStore, { name, version }: CollectionSpec): Promise<void> {
  const generations = await store.generations(name);
  if (!generations.some((one) => one.state === 'live' && one.version === version))
    throw new NoGeneration({ collection: name }, version);
}

/** Makes a collection that no projection fills live, unless it is. */
export async function createUnlessLive(store: ReadStore, spec: CollectionSpec): Promise<void> {
  const isLive = async (): Promise<boolean> =>
    (await store.generations(spec.name)).some(({ state }) => state === 'live');
  if (await isLive()) return;
  const generation = await store.create(spec);
  await store.finish(generation);
  // Another process may have been faster, and written something already.
  if (await isLive()) await store.drop(generation);
  else await store.swap(generation);
}
