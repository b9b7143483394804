import { Refusal } from '../kernel/fault';
import { numberOf, type Position, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING } from '../kernel/query';
import { type Generation, NoGeneration, type ReadStore, targetOf } from '../kernel/read-store';
import { defined, without } from '../kernel/values';
import { type LeaseHolder } from '../runtime/lease-holder';
import { type Comparison, compareWithLive, hashOf, noteComparison } from './compare';
import { catchUp, fillGenerations, type OnBatch, Pacer } from './fill';
import { GenerationProjector } from './generation-projector';
import {
  dropGenerations,
  type LeaseParts,
  liveGenerations,
  nameOf,
  RebuildUnderWay,
  TAKEN_OVER,
  whileBuilding,
  whileSwapping,
} from './generations';
import { readNotes, removeNote, type Verification, writeNote } from './notes';
import { countParked, prepareParked, skippedEvents } from './parked';
import {
  meanPace,
  type Progress,
  ProgressMeter,
  RebuildEstimate,
  shareOf,
  type Stretch,
} from './progress-meter';
import { DOMAIN_LOG, type Projection, type Source } from './projection';
import { makeLive, makeReady, refuseWhilePaused } from './standby';

/** Its signal cancels the rebuild; the next one removes what has been built. */
export interface RebuildParts extends LeaseParts {
  /** Identifies the running code. */
  readonly code: string;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Swap in despite differences and parked documents. */
  readonly force?: boolean;
  /**
   * What becomes of the new generations. `swap`, the default: they become live; `keep`: they are ready to, until
   * somebody swaps them in; `drop`: they are only compared.
   */
  readonly then?: 'swap' | 'keep' | 'drop';
  /** How long a generation is kept, and followed, that is replaced or ready; by default a day (`RETAIN_MS`). */
  readonly retainMs?: number;
  /** One document of so many is projected and compared, by the name of the read model; with `drop`. */
  readonly samples?: ReadonlyMap<string, number>;
  /** Live read models that are not to fall behind because of this; by default those that are rebuilt. */
  readonly beside?: readonly Projection[];
  /** Events at a time. */
  readonly batchSize?: number;
  /** The kind of the log; by default that of the domain. */
  readonly source?: Source;
  /** How long documents of projections with `expires` are retained. */
  readonly keepMs?: number;
}

/** Events, rate and time are of all read models that are rebuilt in one pass over a log, the whole of it. */
export interface RebuildProgress extends Omit<Progress, 'secondsLeft'> {
  readonly phase: 'project' | 'index' | 'compare' | 'swap';
  /** Absent as long as that cannot be known. */
  readonly secondsLeft?: number;
  /** How many there are in the pass. */
  readonly readModels?: number;
  /** The one that a step behind the pass is at, counted from 1, if there are several. */
  readonly readModel?: { readonly name: string; readonly number: number };
  /** Which of several logs, each of which has a pass of its own. */
  readonly part?: string;
}

/** A generation that was built. */
export interface Rebuilt {
  /** `building` if it is ready to become live, or was dropped. */
  readonly generation: Generation;
  readonly documents: number;
  readonly parked: number;
  readonly bytes: number;
  /** Absent when there was no live generation of the same version. */
  readonly comparison?: Comparison;
  readonly verification: Verification;
}

/** The new generation differs from the live one or has parked documents, so it was not swapped in. */
export class RebuildRefused extends Refusal {}

/** Rounds of catching up with a log that is being written to. */
const MAX_CATCH_UPS = 10;

/**
 * Projects the whole log into new generations, compares them with the live ones and swaps them in. Readers and the
 * projector continue with the live generations meanwhile, and a failure before the swap does not affect them. After an
 * interruption the same code continues where it was; what it does not continue is dropped by the next rebuild, or by
 * the `Sweeper`. The replaced generation is kept, and followed, for some time.
 */
export async function rebuild(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  parts: RebuildParts,
): Promise<readonly Rebuilt[]> {
  const { rebuildLease } = parts.source ?? DOMAIN_LOG;
  return await whileBuilding(store, rebuildLease, parts, async (lease) => {
    try {
      await prepareParked(store);
      return await new Rebuild(log, store, projections, parts, lease).run();
    } catch (error) {
      // Another rebuild has taken the lease and dropped this one's generations.
      if (!(error instanceof NoGeneration) || (await lease.acquire())) throw error;
      throw new RebuildUnderWay(TAKEN_OVER, { cause: error });
    }
  });
}

/** Generations that are filled in one pass: documents are described with the directory of its end. */
interface Pass extends Stretch {
  readonly projectors: GenerationProjector[];
}

/** How often a note of the progress is left (ms). */
const NOTE_MS = 1_000;

class Rebuild {
  private readonly meter: ProgressMeter;
  private estimate: RebuildEstimate;
  private readonly pacer: Pacer;
  private readonly source: Source;
  private phase: RebuildProgress['phase'] = 'project';
  private readModel: RebuildProgress['readModel'];
  private passes: readonly Pass[] = [];
  private notedAt = -Infinity;
  /** Those that are not complete yet. */
  private generations: readonly Generation[] = [];
  /** Whether notes say that they are those of this rebuild. */
  private isNoted = false;
  /** By collection: documents are described with the directory of this position. */
  private readonly untils = new Map<string, Position>();
  private ahead: Position | undefined;
  /** By collection: how many events operators had excluded when it began. */
  private readonly skipped = new Map<string, number>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly parts: RebuildParts,
    private readonly lease: LeaseHolder,
  ) {
    const { clock, source = DOMAIN_LOG, beside = projections } = parts;
    this.source = source;
    this.meter = new ProgressMeter(clock);
    this.estimate = new RebuildEstimate(clock);
    this.pacer = new Pacer(clock, log, store, beside, source);
  }

  async run(): Promise<readonly Rebuilt[]> {
    const { log, store, projections, parts } = this;
    const live = await liveGenerations(store, projections);
    const refuseIfPaused = async (): Promise<void> => {
      if ((parts.then ?? 'swap') === 'swap' && parts.force !== true) await refuseWhilePaused(store, live);
    };
    await refuseIfPaused();
    const paces = await readNotes(store, 'pace', this.names);
    await this.prepare(live);
    this.estimate = new RebuildEstimate(
      parts.clock,
      meanPace([...paces.values()]),
      live.some((one) => one !== undefined),
      this.passes.reduce((sum, { until }) => sum + numberOf(until), 0),
    );
    // From where it continues.
    this.estimate.reached('project', shareOf(...this.passes));
    this.estimate.enter('project');
    for (const pass of this.passes) {
      const { until } = pass;
      const onBatch: OnBatch = async (events, position, written) => {
        pass.position = position;
        await this.onBatch(events, position, written);
      };
      const part = (): number => this.pacer.part;
      await fillGenerations(log, pass.projectors, {
        ...{ until, onBatch, part },
        ...defined({ batchSize: parts.batchSize }),
      });
      pass.position = until;
    }
    const filled = this.passes.flatMap(({ projectors: own }) => own);
    const projectors = projections.flatMap(
      (projection) => filled.find((one) => one.projection === projection) ?? [],
    );
    await this.enter('index');
    for (const { generation } of projectors) {
      await this.beginWith(generation);
      await store.finish(generation);
    }
    await this.enter('compare');
    const comparisons: (Comparison | undefined)[] = [];
    const verifications: Verification[] = [];
    const counts = await Promise.all(
      live.map(async (one) => one && (await store.count(targetOf(one), EVERYTHING))),
    );
    const all = counts.reduce<number>((sum, count = 0) => sum + count, 0);
    for (const [at, projector] of projectors.entries()) {
      const generation = live[at];
      await this.beginWith(projector.generation);
      const before = counts.slice(0, at).reduce<number>((sum, count = 0) => sum + count, 0);
      const comparison =
        generation &&
        (await compareWithLive(parts.clock, log, store, generation, projector, {
          keptSince: parts.clock.wall() - (parts.keepMs ?? Infinity),
          isCompared: this.sampledIn(projector.generation.collection),
          onPage: (compared) => {
            this.estimate.reached('compare', Math.min(1, (before + compared) / Math.max(1, all)));
            return this.onBatch(0, START);
          },
        }));
      comparisons.push(comparison);
      const sample = parts.samples?.get(projector.generation.collection) ?? 1;
      const compared = { at: parts.clock.now().toISOString(), live: generation, comparison, sample };
      verifications.push(await noteComparison(store, projector, compared, parts.then !== 'drop'));
    }
    if (parts.then !== 'drop') await this.refuseUnlessSound(projectors, comparisons);
    await refuseIfPaused();
    await this.enter('swap');
    if (parts.then !== 'drop') await this.catchUpWithHead(projectors);
    const rebuilt: Rebuilt[] = [];
    for (const [at, projector] of projectors.entries()) {
      await this.beginWith(projector.generation);
      const completed = await this.complete(projector, comparisons[at]);
      const verification = verifications[at];
      if (verification !== undefined) rebuilt.push({ ...completed, verification });
    }
    const { measured } = this.estimate;
    if (measured !== undefined && parts.samples === undefined)
      for (const name of this.names) await writeNote(store, 'pace', name, measured);
    return rebuilt;
  }

  private get names(): readonly string[] {
    return this.projections.map(({ collection }) => collection.name);
  }

  /** The kind of its notes: what is only compared leaves rebuilds alone that were interrupted. */
  private get kind(): 'rebuild' | 'comparison' {
    return this.parts.then === 'drop' ? 'comparison' : 'rebuild';
  }

  private sampledIn(readModel: string): (id: string) => boolean {
    const sample = this.parts.samples?.get(readModel) ?? 1;
    return (id) => sample === 1 || hashOf(id) % sample === 0;
  }

  /**
   * Continues what the same code has begun and was interrupted, drops what else was left, and creates the generations
   * that are missing. The log is read up to where all live generations are: each new one then catches up with its own.
   */
  private async prepare(live: readonly (Generation | undefined)[]): Promise<void> {
    const { log, store, projections, parts, kind } = this;
    const checkpoints = await Promise.all(
      live.map(async (one) => one && (await store.checkpoint(targetOf(one)))),
    );
    const head = await log.head();
    const end = checkpoints.reduce<Position>((least, one = head) => (one < least ? one : least), head);
    const { names } = this;
    const notes = await readNotes(store, 'rebuild', names);
    const ready = await readNotes(store, 'ready', names);
    const passes = new Map<Position, Pass>();
    const generations: Generation[] = [];
    for (const [at, projection] of projections.entries()) {
      const { name, version } = projection.collection;
      const building = (await store.generations(name)).filter(
        (one) => one.state === 'building' && one.number !== ready.get(name)?.generation,
      );
      const note = notes.get(name);
      const begun = building.find((one) => one.number === note?.generation && one.version === version);
      const skipped = (await skippedEvents(log, name)).size;
      const isOurs = begun !== undefined && note?.code === parts.code && note.skipped === skipped;
      // What is parked in it may be retried, or skipped, by now; and its live one has to reach it, to be compared.
      const reachable = checkpoints[at] ?? head;
      const isUsable =
        isOurs &&
        (await countParked(store, [nameOf(begun)])) === 0 &&
        (await store.checkpoint(targetOf(begun))) <= reachable &&
        (note.ahead ?? note.until) <= reachable;
      const isContinued = isUsable && kind === 'rebuild';
      this.skipped.set(name, skipped);
      const others = building.filter((one) => one !== begun || (!isContinued && kind === 'rebuild'));
      await dropGenerations(store, others);
      const generation = isContinued ? begun : await store.create(projection.collection);
      const until = isContinued ? note.until : end;
      generations.push(generation);
      this.untils.set(name, until);
      const projector = await GenerationProjector.open(
        ...([log, store, projection, generation, parts.code, this.sampledIn(name)] as const),
      );
      const pass = passes.get(until) ?? { until, position: until, projectors: [] };
      if (projector.checkpoint < pass.position) pass.position = projector.checkpoint;
      pass.projectors.push(projector);
      passes.set(until, pass);
    }
    this.generations = generations;
    this.passes = [...passes.values()];
    await this.note();
    this.isNoted = true;
  }

  private async refuseUnlessSound(
    projectors: readonly GenerationProjector[],
    comparisons: readonly (Comparison | undefined)[],
  ): Promise<void> {
    if (this.parts.force === true) return;
    for (const [at, { generation, parked }] of projectors.entries()) {
      const name = nameOf(generation);
      const { differing, differences } = comparisons[at] ?? { differing: 0, differences: [] };
      if (differing === 0 && parked.size === 0) continue;
      // The next rebuild begins again: either of the two may be wrong.
      await this.forget();
      if (differing > 0) {
        const examples = differences.slice(0, 10).map(({ id }) => id);
        throw new RebuildRefused(
          `${differing} documents of ${name} differ from the live generation: ${examples.join(', ')}; ` +
            `\`affilog projections verification ${generation.collection}\` shows both, --force swaps it in nevertheless`,
        );
      }
      throw new RebuildRefused(
        `${parked.size} documents of ${name} could not be folded; --force swaps it in nevertheless`,
      );
    }
  }

  /** Catches up until the head no longer moves, or for a limited number of rounds. */
  private async catchUpWithHead(projectors: readonly GenerationProjector[]): Promise<void> {
    for (let round = 0, head = ''; round < MAX_CATCH_UPS && head !== (await this.log.head()); round += 1) {
      head = await this.log.head();
      // Documents may come to be ahead of the checkpoint, up to here.
      this.ahead = head;
      await this.note();
      for (const projector of projectors) await catchUp(this.log, projector, head, this.onBatch);
    }
  }

  private async complete(
    { generation, parked }: GenerationProjector,
    comparison: Comparison | undefined,
  ): Promise<Omit<Rebuilt, 'verification'>> {
    const { store, parts } = this;
    const { then = 'swap' } = parts;
    const { collection } = generation;
    await this.checkNotes();
    await store.refresh(targetOf(generation));
    const documents = await store.count(targetOf(generation), EVERYTHING);
    const bytes = await store.size(generation);
    if (then === 'swap')
      await whileSwapping(store, { ...parts, source: this.source }, () => makeLive(store, generation, parts));
    if (then === 'keep') await makeReady(store, generation, parts);
    if (then === 'drop') await dropGenerations(store, [generation]);
    await removeNote(store, this.kind, collection);
    this.generations = this.generations.filter((one) => one.collection !== collection);
    const state = then === 'swap' ? 'live' : 'building';
    return {
      ...{ generation: { ...generation, state }, documents, parked: parked.size, bytes },
      ...(comparison && { comparison }),
    };
  }

  private readonly onBatch: OnBatch = async (events, _position, written) => {
    this.meter.count(events);
    await this.report();
    await this.checkLease();
    await this.pacer.pace(events, { signal: this.parts.signal, written });
  };

  private async checkLease(): Promise<void> {
    this.parts.signal?.throwIfAborted();
    if (!(await this.lease.acquire())) throw new RebuildUnderWay(TAKEN_OVER);
  }

  /**
   * Whoever has taken the lease over, as when clocks are set, continues what is noted here. It may have completed that,
   * and released the lease, before this one has asked for it again.
   */
  private async checkNotes(): Promise<void> {
    await this.checkLease();
    const notes = await readNotes(this.store, this.kind, this.names);
    for (const { collection, number } of this.generations) {
      const note = notes.get(collection);
      if (note?.owner !== this.parts.owner || note.generation !== number)
        throw new RebuildUnderWay(TAKEN_OVER);
    }
  }

  private async enter(phase: RebuildProgress['phase']): Promise<void> {
    this.estimate.enter(phase);
    this.phase = phase;
    this.readModel = undefined;
    this.notedAt = -Infinity;
    await this.report();
  }

  /** The step is at this read model now. */
  private async beginWith({ collection: name }: Generation): Promise<void> {
    const { names } = this;
    if (names.length === 1) return;
    this.readModel = { name, number: names.indexOf(name) + 1 };
    await this.report();
  }

  private async report(): Promise<void> {
    this.parts.onProgress?.(this.progress());
    if (this.parts.clock.monotonic() - this.notedAt >= NOTE_MS) await this.note();
  }

  private progress(): RebuildProgress {
    const { estimate, phase } = this;
    const share = shareOf(...this.passes);
    if (phase === 'project') estimate.reached('project', share);
    return {
      ...{ phase, ...without(this.meter.at(share, estimate.resumedAt), 'secondsLeft') },
      ...{ readModels: this.projections.length },
      ...defined({ readModel: this.readModel, secondsLeft: estimate.secondsLeft }),
    };
  }

  /** Leaves a note of how far it is, with which it can be continued. */
  private async note(): Promise<void> {
    const { store, parts } = this;
    if (this.isNoted) await this.checkNotes();
    const { phase, events, total, rate, secondsLeft } = this.progress();
    const now = parts.clock.wall();
    this.notedAt = parts.clock.monotonic();
    for (const { collection, number: generation } of this.generations)
      await writeNote(store, this.kind, collection, {
        ...{ generation, owner: parts.owner, code: parts.code, phase, readModels: this.projections.length },
        until: this.untils.get(collection) ?? START,
        ...{ events, total, rate: Math.round(rate), skipped: this.skipped.get(collection) ?? 0 },
        ...(secondsLeft === undefined ? {} : { end: new Date(now + 1000 * secondsLeft).toISOString() }),
        ...{ at: new Date(now).toISOString(), ...defined({ ahead: this.ahead }) },
      });
  }

  /** It is not continued. */
  private async forget(): Promise<void> {
    for (const { collection } of this.generations) await removeNote(this.store, this.kind, collection);
  }
}
