import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { EngineUnavailable } from '../../../kernel/event-log';
import { type Position } from '../../../kernel/event';
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
} from '../../../kernel/query';
import { type Lease } from '../../../kernel/leases';
import {
  type CollectionSpec,
  type Generation,
  NoGeneration,
  pinned,
  ReadStore,
  type SnapshotBatch,
  type Target,
  targetOf,
  type Write,
} from '../../../kernel/read-store';
import { without } from '../../../kernel/values';
import { releaseClosedFiles } from '../connection';
import { BlobCache, DamagedIndex } from '../search/storage';
import { GenerationFile, QueryClock, READING_PRAGMAS } from './generation-file';
import { countGroups, totals } from './groups';
import { resumedScan, snapshot } from './long-reads';
import { type Registered, Registry } from './registry';
import { count, countValues, get, removalsOf, search, searchGroups } from './search';
import { type ThreadArrays } from './thread-arrays';
import { type PreparedWrite, prepareWrites, writeBatch } from './writer';

/** How long (ms) a snapshot may last. */
const SNAPSHOT_MS = 5_000;
/** Bytes of search indexes that a store caches. */
const CACHE_BYTES = 8_000_000;
/** How long (ms) after a write a generation counts as written to. */
const WRITTEN_MS = 500;
/** How often (ms) an idle store closes generations that another thread or process dropped. */
const POLL_MS = 5_000;

/** The read store in a folder. All work runs in the calling thread. */
export class EmbeddedStore extends ReadStore {
  private readonly registry: Registry;
  private readonly opened = new Map<number, GenerationFile>();
  /** Connections of long reads. */
  private readonly longReads = new Set<GenerationFile>();
  private readonly polling: NodeJS.Timeout;
  private readonly cache: BlobCache;
  /** Generations whose indexes are being kept in order, by their numbers, with the time of the last write. */
  private readonly kept = new Map<number, number>();
  private isClosed = false;
  private registered: ReadonlyMap<number, Registered> = new Map();

  private readonly clock: QueryClock;
  private readonly snapshotMs: number;
  private readonly isReading: boolean;
  private readonly arrays: ThreadArrays | undefined;

  /**
   * `clock` stops queries. `snapshotMs` limits how long a snapshot may block the reuse of the WAL. `cacheBytes`: of
   * search indexes. `isReading`: it only answers queries. `arrays`: those of search indexes that threads share.
   */
  constructor(
    directory: string,
    options: {
      readonly clock?: QueryClock | undefined;
      readonly snapshotMs?: number | undefined;
      readonly cacheBytes?: number | undefined;
      readonly isReading?: boolean | undefined;
      readonly arrays?: ThreadArrays | undefined;
    } = {},
  ) {
    super();
    this.cache = new BlobCache(options.cacheBytes ?? CACHE_BYTES);
    this.isReading = options.isReading ?? false;
    this.arrays = options.arrays;
    this.clock = options.clock ?? new QueryClock();
    this.snapshotMs = options.snapshotMs ?? SNAPSHOT_MS;
    this.registry = new Registry(directory);
    this.polling = setInterval(() => this.poll(), POLL_MS).unref();
  }

  /** Creates the folder if needed, and removes what crashes left in it. */
  clean(): void {
    this.registry.clean();
  }

  async create(spec: CollectionSpec): Promise<Generation> {
    return withoutSpec(this.registry.create(spec));
  }

  async finish(generation: Generation): Promise<void> {
    while (await this.finishStep(targetOf(generation))) await nextTurn();
  }

  async swap(generation: Generation): Promise<void> {
    this.at(targetOf(generation), requireFinished);
    this.registry.swap(generation);
  }

  async retire(generation: Generation): Promise<void> {
    this.registry.retire(generation);
  }

  async drop(generation: Generation): Promise<void> {
    this.registry.drop(generation);
    this.closeDropped();
  }

  async sweep(): Promise<void> {
    this.registry.sweep();
  }

  async generations(...collections: readonly string[]): Promise<readonly Generation[]> {
    const all = [...this.registry.all().values()];
    return all.filter(({ collection }) => collections.includes(collection)).map(withoutSpec);
  }

  async size(generation: Generation): Promise<number> {
    return this.registry.size(generation);
  }

  async write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void> {
    const prepared = this.at(target, ({ layout }) => prepareWrites(layout, writes));
    await this.writePrepared(target, prepared, checkpoint);
    if (writes.length > 0) this.keepInOrder(target).catch(ignoreUnavailable);
  }

  /** The second half of `write`, after the documents are validated and prepared. */
  async writePrepared(
    target: Target,
    prepared: readonly PreparedWrite[],
    checkpoint: Position | undefined,
  ): Promise<void> {
    this.at(target, (generation) => {
      writeBatch(generation, prepared, checkpoint);
    });
  }

  async checkpoint(target: Target): Promise<Position> {
    return this.at(target, (generation) => generation.checkpoint());
  }

  /** Writes can be read at once. */
  async refresh(target: Target): Promise<void> {
    if (this.known(target) === undefined) this.resolve(target);
  }

  async get(target: Target, ids: readonly string[], options: QueryOptions = {}): Promise<readonly Found[]> {
    return this.query(target, without(options, 'spent'), (generation) =>
      get(generation, ids, options.bodyLimit),
    );
  }

  async removals(target: Target, ids: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    return this.at(target, ({ file }) => removalsOf(file, ids));
  }

  async search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    return this.query(target, options, (generation) =>
      search(requireFinished(generation), wanted, options.bodyLimit),
    );
  }

  async searchGroups(target: Target, wanted: GroupSearch, options: QueryOptions = {}): Promise<GroupResults> {
    return this.query(target, options, (generation) =>
      searchGroups(requireFinished(generation), wanted, options.bodyLimit),
    );
  }

  async count(target: Target, filter: Filter): Promise<number> {
    return this.query(target, {}, (generation) => count(requireFinished(generation), filter));
  }

  async countGroups(target: Target, wanted: GroupCount, options: QueryOptions = {}): Promise<GroupCounts> {
    return this.query(target, options, (generation) => countGroups(requireFinished(generation), wanted));
  }

  async totals(target: Target, wanted: TotalsSearch, options: QueryOptions = {}): Promise<readonly Totals[]> {
    return this.query(target, options, (generation) => totals(requireFinished(generation), wanted));
  }

  async countValues(
    target: Target,
    wanted: ValuesSearch,
    options: QueryOptions = {},
  ): Promise<readonly (readonly ValueCount[])[]> {
    return this.query(target, options, (generation) => countValues(requireFinished(generation), wanted));
  }

  async *snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncGenerator<SnapshotBatch> {
    yield* this.onOwnConnection(target, (own) => snapshot(own, filter, samplesOf, this.snapshotMs));
  }

  async *scan(target: Target, filter: Filter, after?: string): AsyncGenerator<readonly Found[]> {
    yield* this.onOwnConnection(target, (own) => resumedScan(own, filter, after, this.snapshotMs));
  }

  async lease(name: string, owner: string, now: () => number, ttl: number): Promise<Lease | undefined> {
    return this.registry.leases.lease(name, owner, now, ttl);
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    return this.registry.leases.holder(name, now, ttl);
  }

  async release(lease: Lease): Promise<void> {
    this.registry.leases.release(lease);
  }

  /** One step of `finish`; false after the last one. */
  async finishStep(target: Target): Promise<boolean> {
    return this.at(target, (file) => file.finish());
  }

  /** One step of keeping an index in order (`GenerationFile.keep`). */
  async keep(target: Target, isWritten: boolean): Promise<boolean> {
    return this.at(target, (generation) => generation.keep(isWritten));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.polling);
    for (const generation of [...this.opened.values(), ...this.longReads]) generation.close();
    this.opened.clear();
    this.arrays?.close();
    this.registry.close();
  }

  /** Closes generations that were dropped. */
  closeDropped(): void {
    this.registered = this.registry.all();
    const dropped = [...this.opened].filter(([number]) => !this.registered.has(number));
    for (const [number, generation] of dropped) {
      generation.close();
      this.opened.delete(number);
    }
    if (dropped.length > 0) setImmediate(releaseClosedFiles);
  }

  /** Keeps the index of a generation that was written to in order, in steps between other work. */
  private async keepInOrder(written: Target): Promise<void> {
    const generation = this.resolve(written);
    const { number } = generation;
    const isKept = this.kept.has(number);
    this.kept.set(number, performance.now());
    if (isKept) return;
    const rest = (): number => (this.kept.get(number) ?? 0) + WRITTEN_MS - performance.now();
    try {
      for (let isResting = false; !isResting;) {
        isResting = rest() <= 0;
        while (!this.isClosed && (await this.keep(targetOf(generation), !isResting))) await nextTurn();
        if (this.isClosed) return;
        if (!isResting) await pause(Math.max(1, rest()), undefined, { ref: false });
      }
    } finally {
      this.kept.delete(number);
    }
  }

  private poll(): void {
    try {
      if (this.opened.size > 0) this.closeDropped();
    } catch (error) {
      // The next call raises it.
      if (!(error instanceof EngineUnavailable)) throw error;
    }
  }

  /** Reads on a separate connection. */
  private async *onOwnConnection<Batch>(
    target: Target,
    read: (own: GenerationFile) => AsyncIterable<Batch>,
  ): AsyncGenerator<Batch> {
    const registered = this.resolve(target);
    const generation = this.at(target, requireFinished);
    const own = generation.openForScan();
    this.longReads.add(own);
    try {
      yield* read(own);
    } catch (error) {
      throw error instanceof DamagedIndex ? this.refused(registered, error) : error;
    } finally {
      this.longReads.delete(own);
      generation.endScan(own);
      if (own.isRemoved()) setImmediate(releaseClosedFiles);
    }
  }

  private query<Result>(
    target: Target,
    { signal, ...limits }: QueryOptions,
    work: (generation: GenerationFile) => Result,
  ): Result {
    signal?.throwIfAborted();
    return this.at(this.pinned(target, limits), (generation) =>
      this.clock.run(limits, () => work(generation)),
    );
  }

  /** The generation that a query reads (`QueryOptions.generations`). */
  protected pinned(target: Target, options: QueryOptions): Target {
    return pinned(target, options, () => this.resolve(target).number);
  }

  /** Runs `work` on the target's generation; if that was dropped meanwhile, on the one that is live now. */
  private at<Result>(target: Target, work: (generation: GenerationFile) => Result): Result {
    const registered = this.resolve(target);
    try {
      return work(this.generation(registered));
    } catch (error) {
      const isDamaged = error instanceof DamagedIndex;
      if (!isDamaged && !(error instanceof EngineUnavailable)) throw error;
      if (this.registry.all().has(registered.number))
        throw isDamaged ? this.refused(registered, error) : error;
      return work(this.generation(this.resolve(target)));
    }
  }

  /** Retires a generation with a damaged index, so that it is built again. */
  private refused(generation: Registered, error: DamagedIndex): EngineUnavailable {
    this.registry.retire(generation);
    return new EngineUnavailable(
      `the read store is not available: ${generation.collection} is built again, as its file is damaged`,
      { cause: error },
    );
  }

  private generation(registered: Registered): GenerationFile {
    const { number, collection } = registered;
    const open = this.opened.get(number);
    if (open !== undefined) return open;
    const path = this.registry.path(registered);
    const generation = new GenerationFile(path, registered.spec, {
      clock: this.clock,
      cache: this.cache,
      arrays: this.arrays?.of(path),
      ...(this.isReading ? { setUp: READING_PRAGMAS } : {}),
    });
    this.opened.set(number, generation);
    generation.checkpoint();
    if (this.registry.all().has(number)) return generation;
    // It was dropped while being opened: the file and its WAL may not match.
    throw new EngineUnavailable(`generation ${number} of ${collection} has been dropped`);
  }

  private resolve(target: Target): Registered {
    if (this.registry.all() !== this.registered) this.closeDropped();
    const found = this.known(target);
    if (found === undefined) throw new NoGeneration(target);
    return found;
  }

  private known({ collection, generation }: Target): Registered | undefined {
    for (const one of this.registered.values()) {
      if (one.collection !== collection) continue;
      if (generation === undefined ? one.state === 'live' : one.number === generation) return one;
    }
    return undefined;
  }
}

/** The next write, or whoever reads, raises it. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof EngineUnavailable) && !(error instanceof NoGeneration)) throw error;
}

function withoutSpec({ collection, version, number, state }: Registered): Generation {
  return { collection, version, number, state };
}

function requireFinished(generation: GenerationFile): GenerationFile {
  if (!generation.finished()) throw new Error('a generation is searched, or made live, that is not finished');
  return generation;
}
