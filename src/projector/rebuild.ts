import { setTimeout as pause } from 'node:timers/promises';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING } from '../kernel/query';
import { type Generation, NoGeneration, type ReadStore } from '../kernel/read-store';
import { compareWithLive, type Comparison } from './compare';
import { catchUp, fill, type OnFolded } from './fill';
import { type GenerationFold } from './generation-fold';
import { dropGenerations, liveGeneration, nameOf, targetOf } from './generations';
import { LeaseHolder, REBUILD_LEASE } from '../kernel/lease-holder';
import { Meter, type Progress } from './meter';
import { prepareParked } from './parked';
import { type Projection } from './projection';

export interface RebuildOptions {
  /** Who does it: a name no other process has. */
  readonly owner: string;
  /** What the running code is known by. */
  readonly code: string;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Gives up: what has been built is removed. */
  readonly signal?: AbortSignal;
  /** Swap in spite of differences and of parked documents. */
  readonly force?: boolean;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface RebuildProgress extends Progress {
  readonly phase: 'fold' | 'index' | 'compare' | 'swap';
}

/** A generation that is live now. */
export interface Rebuilt {
  readonly generation: Generation;
  readonly documents: number;
  /** Absent when there was none of the same version to compare with. */
  readonly comparison?: Comparison;
}

/** Someone else is rebuilding, or was killed a moment ago. */
class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
}

/** What was built is not what is live, or is not whole: it was not swapped in. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

const TAKEN_OVER = 'another rebuild has taken over';

const POLL_MS = 200;
/** Most times that it runs after a log that is being written. */
const TAILS = 10;

/**
 * Folds the log from its start into new generations beside the live ones, compares, and swaps them in; readers and
 * whoever projects the live ones go on meanwhile. Whatever ends it before the swap leaves the live ones as they
 * were; half-built ones are removed by the next rebuild, or by the `Sweeper` before. The generation swapped out is kept
 * until the next one.
 */
export async function rebuild(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<readonly Rebuilt[]> {
  const now = options.now ?? Date.now;
  const lease = new LeaseHolder(store, REBUILD_LEASE.name, options.owner, REBUILD_LEASE.ms, now);
  await takeTurn(lease, options.signal);
  try {
    await prepareParked(store);
    const work = new Rebuild(log, store, projections, options, lease, now);
    return await lease.renewDuring(() => work.run());
  } catch (error) {
    // Whoever has taken over has removed what was being built.
    if (!(error instanceof NoGeneration) || (await lease.acquire())) throw error;
    throw new RebuildUnderWay(TAKEN_OVER, { cause: error });
  } finally {
    await lease.release();
  }
}

/** The lease of a rebuild that was killed runs out meanwhile. */
async function takeTurn(lease: LeaseHolder, signal: AbortSignal | undefined): Promise<void> {
  const patience = performance.now() + REBUILD_LEASE.ms + POLL_MS;
  while (!(await lease.acquire())) {
    if (performance.now() > patience) throw new RebuildUnderWay('another rebuild is under way');
    await pause(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

class Rebuild {
  private readonly meter: Meter;
  private phase: RebuildProgress['phase'] = 'fold';
  private until: Position = '';

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly options: RebuildOptions,
    private readonly lease: LeaseHolder,
    now: () => number,
  ) {
    this.meter = new Meter(now);
  }

  async run(): Promise<readonly Rebuilt[]> {
    const { log, store, projections } = this;
    const live = await Promise.all(projections.map((projection) => this.prepare(projection)));
    const checkpoints = await Promise.all(
      live.flatMap((generation) => (generation === undefined ? [] : store.checkpoint(targetOf(generation)))),
    );
    this.until = checkpoints.reduce((a, b) => (a < b ? a : b), await log.head());
    const folds = await fill(log, store, projections, {
      code: this.options.code,
      until: this.until,
      onFolded: this.onFolded,
    });
    this.enter('index');
    for (const { generation } of folds) await store.finish(generation);
    this.enter('compare');
    const comparisons: (Comparison | undefined)[] = [];
    for (const [at, fold] of folds.entries()) {
      const generation = live[at];
      comparisons.push(generation && (await compareWithLive(log, store, generation, fold)));
    }
    this.refuseBad(folds, comparisons);
    this.enter('swap');
    await this.tail(folds);
    const rebuilt: Rebuilt[] = [];
    for (const [at, fold] of folds.entries()) rebuilt.push(await this.swap(fold, comparisons[at]));
    return rebuilt;
  }

  /** Removes what an earlier rebuild left half-built. The live generation to compare with, if there is one. */
  private async prepare({ collection }: Projection): Promise<Generation | undefined> {
    const generations = await this.store.generations(collection.name);
    await dropGenerations(
      this.store,
      generations.filter(({ state }) => state === 'building'),
    );
    return await liveGeneration(this.store, collection);
  }

  private refuseBad(
    folds: readonly GenerationFold[],
    comparisons: readonly (Comparison | undefined)[],
  ): void {
    if (this.options.force === true) return;
    for (const [at, { generation, parked }] of folds.entries()) {
      const name = nameOf(generation);
      const { differing, examples } = comparisons[at] ?? { differing: 0, examples: [] };
      if (differing > 0) {
        throw new RebuildRefused(
          `${differing} documents of ${name} are not as in the live generation: ${examples.slice(0, 10).join(', ')}`,
        );
      }
      if (parked.size > 0)
        throw new RebuildRefused(`${parked.size} documents of ${name} could not be folded`);
    }
  }

  /** Runs after the log until little of it is left. */
  private async tail(folds: readonly GenerationFold[]): Promise<void> {
    for (let round = 0, head = ''; round < TAILS && head !== (await this.log.head()); round += 1) {
      head = await this.log.head();
      for (const fold of folds) await catchUp(this.log, fold, head, this.onFolded);
    }
  }

  private async swap({ generation }: GenerationFold, comparison: Comparison | undefined): Promise<Rebuilt> {
    const { store } = this;
    await this.goOn();
    await store.swap(generation);
    const retired = (await store.generations(generation.collection)).filter(
      ({ state }) => state === 'retired',
    );
    await dropGenerations(store, retired.slice(0, -1));
    await store.refresh(targetOf(generation));
    const documents = await store.count(targetOf(generation), EVERYTHING);
    return { generation: { ...generation, state: 'live' }, documents, ...(comparison && { comparison }) };
  }

  private readonly onFolded: OnFolded = async (events, position) => {
    this.meter.count(events);
    this.report(position);
    await this.goOn();
  };

  private async goOn(): Promise<void> {
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
