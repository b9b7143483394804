import { setTimeout as pause } from 'node:timers/promises';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING } from '../kernel/query';
import { type Generation, NoGeneration, type ReadStore, targetOf } from '../kernel/read-store';
import { compareWithLive, type Comparison } from './compare';
import { buildGenerations, catchUp, type OnBatch } from './build-generations';
import { type GenerationProjector } from './generation-projector';
import { dropGenerations, liveGeneration, nameOf } from './generations';
import { LeaseHolder } from '../runtime/lease-holder';
import { ProgressMeter, type Progress } from './progress-meter';
import { prepareParked } from './parked';
import { type Projection } from './projection';
import { DOMAIN_LOG, type Source } from './source';

export interface RebuildOptions {
  /** A name that no other process uses. */
  readonly owner: string;
  /** Identifies the running code. */
  readonly code: string;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Cancels the rebuild; the next one removes what has been built. */
  readonly signal?: AbortSignal;
  /** Swap in despite differences and parked documents. */
  readonly force?: boolean;
  /** Epoch ms. */
  readonly now?: () => number;
  /** The kind of the log; by default that of the domain. */
  readonly source?: Source;
  /** How long documents are kept whose projection says that they expire. */
  readonly keepMs?: number;
}

export interface RebuildProgress extends Progress {
  readonly phase: 'project' | 'index' | 'compare' | 'swap';
}

/** A generation that has become live. */
export interface Rebuilt {
  readonly generation: Generation;
  readonly documents: number;
  /** Absent when there was no live generation of the same version. */
  readonly comparison?: Comparison;
}

/** Another process is rebuilding, or was killed a moment ago. */
class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
}

/** The new generation differs from the live one or has parked documents, so it was not swapped in. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

const TAKEN_OVER = 'another rebuild has taken over: wait for it to finish, then try again';

const POLL_MS = 200;
/** Rounds of catching up with a log that is being written to. */
const MAX_CATCH_UPS = 10;

/**
 * Projects the whole log into new generations, compares them with the live ones and swaps them in. Readers and the
 * projector continue with the live generations meanwhile, and a failure before the swap does not affect them.
 * Unfinished generations are dropped by the next rebuild, or earlier by the `Sweeper`. The replaced generation is
 * retained until the next rebuild.
 */
export async function rebuild(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<readonly Rebuilt[]> {
  const now = options.now ?? Date.now;
  const { name, ms } = (options.source ?? DOMAIN_LOG).rebuildLease;
  const lease = new LeaseHolder(store, name, options.owner, ms, now);
  await acquireLease(lease, ms, options.signal);
  try {
    await prepareParked(store);
    const rebuilding = new Rebuild(log, store, projections, options, lease, now);
    return await lease.renewDuring(() => rebuilding.run());
  } catch (error) {
    // Another rebuild has taken the lease and dropped this one's generations.
    if (!(error instanceof NoGeneration) || (await lease.acquire())) throw error;
    throw new RebuildUnderWay(TAKEN_OVER, { cause: error });
  } finally {
    await lease.release();
  }
}

/** Waits long enough for the lease of a killed rebuild to expire. */
async function acquireLease(lease: LeaseHolder, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const deadline = performance.now() + ms + POLL_MS;
  while (!(await lease.acquire())) {
    if (performance.now() > deadline)
      throw new RebuildUnderWay('another rebuild is under way: wait for it to finish, then try again');
    await pause(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

class Rebuild {
  private readonly meter: ProgressMeter;
  private phase: RebuildProgress['phase'] = 'project';
  private until: Position = '';

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly options: RebuildOptions,
    private readonly lease: LeaseHolder,
    private readonly now: () => number,
  ) {
    this.meter = new ProgressMeter(now);
  }

  async run(): Promise<readonly Rebuilt[]> {
    const { log, store, projections } = this;
    const live = await Promise.all(projections.map((projection) => this.prepare(projection)));
    const checkpoints = await Promise.all(
      live.flatMap((generation) => (generation === undefined ? [] : store.checkpoint(targetOf(generation)))),
    );
    this.until = checkpoints.reduce((a, b) => (a < b ? a : b), await log.head());
    const projectors = await buildGenerations(log, store, projections, {
      code: this.options.code,
      until: this.until,
      onBatch: this.onBatch,
    });
    this.enter('index');
    for (const { generation } of projectors) await store.finish(generation);
    this.enter('compare');
    const comparisons: (Comparison | undefined)[] = [];
    for (const [at, projector] of projectors.entries()) {
      const generation = live[at];
      const keptSince = this.now() - (this.options.keepMs ?? Infinity);
      comparisons.push(generation && (await compareWithLive(log, store, generation, projector, keptSince)));
    }
    this.refuseUnlessSound(projectors, comparisons);
    this.enter('swap');
    await this.catchUpWithHead(projectors);
    const rebuilt: Rebuilt[] = [];
    for (const [at, projector] of projectors.entries())
      rebuilt.push(await this.swap(projector, comparisons[at]));
    return rebuilt;
  }

  /** Drops what an interrupted rebuild has left. Returns the live generation to compare with, if there is one. */
  private async prepare({ collection }: Projection): Promise<Generation | undefined> {
    const generations = await this.store.generations(collection.name);
    await dropGenerations(
      this.store,
      generations.filter(({ state }) => state === 'building'),
    );
    return await liveGeneration(this.store, collection);
  }

  private refuseUnlessSound(
    projectors: readonly GenerationProjector[],
    comparisons: readonly (Comparison | undefined)[],
  ): void {
    if (this.options.force === true) return;
    for (const [at, { generation, parked }] of projectors.entries()) {
      const name = nameOf(generation);
      const { differing, examples } = comparisons[at] ?? { differing: 0, examples: [] };
      if (differing > 0) {
        throw new RebuildRefused(
          `${differing} documents of ${name} differ from the live generation: ${examples.slice(0, 10).join(', ')}; --force swaps it in nevertheless`,
        );
      }
      if (parked.size > 0)
        throw new RebuildRefused(
          `${parked.size} documents of ${name} could not be folded; --force swaps it in nevertheless`,
        );
    }
  }

  /** Catches up until the head no longer moves, or for a limited number of rounds. */
  private async catchUpWithHead(projectors: readonly GenerationProjector[]): Promise<void> {
    for (let round = 0, head = ''; round < MAX_CATCH_UPS && head !== (await this.log.head()); round += 1) {
      head = await this.log.head();
      for (const projector of projectors) await catchUp(this.log, projector, head, this.onBatch);
    }
  }

  private async swap(
    { generation }: GenerationProjector,
    comparison: Comparison | undefined,
  ): Promise<Rebuilt> {
    const { store } = this;
    await this.checkLease();
    await store.swap(generation);
    const retired = (await store.generations(generation.collection)).filter(
      ({ state }) => state === 'retired',
    );
    await dropGenerations(store, retired.slice(0, -1));
    await store.refresh(targetOf(generation));
    const documents = await store.count(targetOf(generation), EVERYTHING);
    return { generation: { ...generation, state: 'live' }, documents, ...(comparison && { comparison }) };
  }

  private readonly onBatch: OnBatch = async (events, position) => {
    this.meter.count(events);
    this.report(position);
    await this.checkLease();
  };

  private async checkLease(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (!(await this.lease.acquire())) throw new RebuildUnderWay(TAKEN_OVER);
  }

  private enter(phase: RebuildProgress['phase']): void {
    this.phase = phase;
    this.report(this.until);
  }

  private report(position: Position): void {
    this.options.onProgress?.({ phase: this.phase, ...this.meter.towards(this.until, position) });
  }
}
