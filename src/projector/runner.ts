import { type RecordedEvent, START } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { Leader } from '../runtime/leader';
import { LeaseHolder } from '../runtime/lease-holder';
import { reasonOf } from '../runtime/unavailable';
import { Expiry, type ExpiryParts } from './expiry';
import { GenerationProjector } from './generation-projector';
import { AsOfSweeper } from './as-of';
import { liveGenerations, nameOf, Sweeper } from './generations';
import { lastEventUpTo, OriginRecord } from './origin';
import { DocumentsParked, type Parked, prepareParked, TooManyParked } from './parked';
import { DOMAIN_LOG, IncomingEvent, type Projection, type Source } from './projection';
import { ProjectionGroup } from './projection-group';
import { rebuild, type RebuildProgress } from './rebuild';

export interface RunnerParts {
  readonly clock: Clock;
  readonly owner: string;
  /** Identifies the running code: documents that other code has parked are retried. */
  readonly code: string;
  readonly report?: (error: unknown) => void;
  readonly source?: Source;
  /** For a log that expires. */
  readonly expiry?: ExpiryParts;
}

/** Interval for checking the lease, the live generations and requested retries. */
const LOOK_MS = 250;
/** Interval for recording the last applied event. */
const RECORD_MS = 1000;
/** While it is behind: interval for storing the checkpoints of projections without events, each of which is a write. */
const FLUSH_MS = 1000;
const BATCH = 2000;
const BACKOFF_MS = { first: 100, longest: 5000 } as const;

/**
 * Keeps the live generations of all projections up to date by following the log. Only the runner that holds the
 * projector lease does so; the others stand by. It builds missing generations first. After a failure it restarts from
 * the checkpoints, with back-off. A projection with too many parked documents stops while the others continue; it
 * resumes after a retry, a rebuild or a restart.
 */
export class Runner {
  private readonly leader: Leader;
  private readonly sweeper: Sweeper;
  private readonly asOfSweeper: AsOfSweeper | undefined;
  private running: Promise<void> | undefined;
  private onOpen: () => void = () => undefined;
  private projectors: readonly GenerationProjector[] = [];
  /** Parked documents reported so far, by generation. */
  private readonly reportedParked = new Map<number, number>();
  private readonly origin: OriginRecord;
  private readonly expiry: Expiry | undefined;
  /** The last event that was applied and written. */
  private applied: RecordedEvent | undefined;
  private readonly stopped = new StoppedProjections();
  private failure: unknown;
  private building: RebuildProgress | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly parts: RunnerParts,
  ) {
    const { clock, owner, source = DOMAIN_LOG, expiry } = parts;
    const { name, ms } = source.projectorLease;
    this.leader = new Leader(new LeaseHolder(clock, store, name, owner, ms), {
      lead: () => this.lead(),
      standBy: () => this.standBy(),
      failed: (error) => this.failed(error),
      lookMs: LOOK_MS,
      backoffMs: BACKOFF_MS,
    });
    this.sweeper = new Sweeper(clock, store, projections, owner, source);
    this.asOfSweeper = source === DOMAIN_LOG ? new AsOfSweeper(clock, store, owner) : undefined;
    this.origin = new OriginRecord(clock, log, store, projections, source);
    this.expiry = expiry && new Expiry(clock, store, expiry, (message) => parts.report?.(message));
  }

  /** Starts; resolves once every projection has a live generation, or when stopped. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.onOpen = resolve;
      this.running ??= this.leader.start().finally(resolve);
    });
  }

  /** Stops after the current batch. */
  async stop(): Promise<void> {
    await this.leader.stop().catch((error: unknown) => this.parts.report?.(error));
  }

  /**
   * The failure since the last successful write, or the projections that have stopped; undefined while all is well.
   */
  trouble(): string | undefined {
    return this.failure === undefined ? this.stopped.trouble() : reasonOf(this.failure);
  }

  /** The progress of building missing generations; undefined when none are being built. */
  progress(): RebuildProgress | undefined {
    return this.building;
  }

  private failed(error: unknown): boolean {
    this.failure = error;
    this.parts.report?.(error);
    return true;
  }

  /** Projects until it is stopped or has to restart. */
  private async lead(): Promise<void> {
    this.applied = undefined;
    await this.origin.claim((message) => this.parts.report?.(message));
    await this.buildMissing();
    this.projectors = await this.openProjectors();
    const live = new Set(this.projectors.map(({ generation }) => generation.number));
    for (const number of this.reportedParked.keys())
      if (!live.has(number)) this.reportedParked.delete(number);
    const running = await this.stopped.without(this.projectors);
    const group = await ProjectionGroup.open(this.log, running, (projector, error) =>
      this.stopProjection(error, projector.generation.number),
    );
    await retryDue(this.log, group);
    this.onOpen();
    await this.leader.leadWith(
      (signal) => this.follow(group, signal),
      (signal) => this.mayLead(signal),
    );
    // It may have been stopped before the log has delivered anything.
    this.applied ??= await lastEventUpTo(this.log, group.position, group.prefixes);
    await this.origin.record(this.applied, 0);
  }

  private async follow(group: ProjectionGroup, signal: AbortSignal): Promise<void> {
    const { position: after, prefixes } = group;
    let isWriting = false;
    let hasCaughtUp = false;
    let last: RecordedEvent | undefined;
    const { clock } = this.parts;
    let flushed = clock.monotonic();
    try {
      for await (const batch of this.log.subscribe({ after, prefixes, batchSize: BATCH, signal })) {
        await group.apply(batch, signal);
        // `apply` returns once the previous batch is written.
        this.applied = last ?? this.applied;
        last = batch.events.at(-1) ?? last;
        if (batch.caughtUp || clock.monotonic() - flushed >= FLUSH_MS) {
          await group.flush();
          flushed = clock.monotonic();
        }
        // Events applied before this subscription, for example by a rebuild, are looked up once.
        if (batch.caughtUp && !hasCaughtUp) last ??= await lastEventUpTo(this.log, batch.position, prefixes);
        if (batch.caughtUp) this.applied = last;
        hasCaughtUp ||= batch.caughtUp;
        if (batch.caughtUp || isWriting) this.failure = undefined;
        isWriting = true;
        this.reportParked();
        if (group.isFinished) return;
      }
    } finally {
      await group.flush();
    }
    if (!signal.aborted) throw new EngineUnavailable('the log has ended the subscription');
  }

  private reportParked(): void {
    for (const { generation, parked } of this.projectors) {
      const reported = this.reportedParked.get(generation.number) ?? 0;
      if (parked.size > reported) this.parts.report?.(new DocumentsParked(nameOf(generation), parked.size));
      this.reportedParked.set(generation.number, parked.size);
    }
  }

  private stopProjection(error: TooManyParked, generation?: number): void {
    this.stopped.add(error.collection, generation);
    this.parts.report?.(error);
  }

  /**
   * Sweeps. False when another generation has become live, the claim has been replaced, or a retry is requested: then
   * it starts again with what is live.
   */
  private async mayLead(signal: AbortSignal): Promise<boolean> {
    // One after the other: one that fails while another is awaited would end the process.
    const report = (error: unknown): void => this.parts.report?.(error);
    await this.sweeper.sweep().catch(report);
    await this.asOfSweeper?.sweep().catch(report);
    await this.expiry?.expire(this.projectors, signal).catch(report);
    const live = await this.origin.live();
    if (live === undefined) return false;
    await this.origin.record(this.applied, RECORD_MS);
    for (const [at, { collection }] of this.projections.entries()) {
      const projector = this.projectors.find(({ projection }) => projection.collection === collection);
      if (live[at]?.number !== projector?.generation.number) return false;
      if ((await projector?.parked.isRetryRequested()) === true) return false;
    }
    return true;
  }

  /** While another runner holds the lease. */
  private async standBy(): Promise<void> {
    if ((await this.missing()).length === 0) this.onOpen();
    // The runner with the lease handles stopped projections.
    this.stopped.clear();
    this.failure = undefined;
  }

  private async buildMissing(): Promise<void> {
    await prepareParked(this.store);
    const { signal } = this.leader;
    // Swap in despite parked documents (`force`): a server with most of its data is better than none.
    const onProgress = (progress: RebuildProgress): void => {
      this.failure = undefined;
      this.building = progress;
    };
    for (;;) {
      const missing = (await this.missing()).filter(({ collection }) => !this.stopped.has(collection.name));
      if (missing.length === 0) return;
      try {
        await rebuild(this.log, this.store, missing, { ...this.parts, signal, force: true, onProgress });
      } catch (error) {
        if (!(error instanceof TooManyParked)) throw error;
        this.stopProjection(error);
      } finally {
        this.building = undefined;
      }
    }
  }

  private async missing(): Promise<readonly Projection[]> {
    const live = await liveGenerations(this.store, this.projections);
    return this.projections.filter((_, at) => live[at] === undefined);
  }

  private async openProjectors(): Promise<readonly GenerationProjector[]> {
    const projectors: GenerationProjector[] = [];
    const live = await liveGenerations(this.store, this.projections);
    for (const [at, projection] of this.projections.entries()) {
      const generation = live[at];
      if (generation === undefined && this.stopped.has(projection.collection.name)) continue;
      if (generation === undefined) throw new NoGeneration({ collection: projection.collection.name });
      projectors.push(
        await GenerationProjector.open(this.log, this.store, projection, generation, this.parts.code),
      );
    }
    return projectors;
  }
}

/** Projections that have stopped because too many of their documents are parked (`docs/decisions.md#x90`). */
class StoppedProjections {
  /** By collection: the generation that stopped; undefined when it could not be built. */
  private readonly generations = new Map<string, number | undefined>();

  add(collection: string, generation: number | undefined): void {
    this.generations.set(collection, generation);
  }

  has(collection: string): boolean {
    return this.generations.has(collection);
  }

  clear(): void {
    this.generations.clear();
  }

  /** The projectors to run: a stopped one resumes with a new generation, or when a retry is requested. */
  async without(projectors: readonly GenerationProjector[]): Promise<readonly GenerationProjector[]> {
    const running: GenerationProjector[] = [];
    for (const projector of projectors) {
      const { collection, number } = projector.generation;
      const isStopped = this.has(collection) && this.generations.get(collection) === number;
      if (isStopped && !(await projector.parked.isRetryRequested())) continue;
      this.generations.delete(collection);
      running.push(projector);
    }
    return running;
  }

  /** Which have stopped, and how to find out why; undefined if none has. */
  trouble(): string | undefined {
    const stopped = [...this.generations.keys()].map(
      (name) => `${name} has stopped: too many of its documents are parked (affilog parked list ${name})`,
    );
    return stopped.length === 0 ? undefined : stopped.join('; ');
  }
}

/**
 * Retries the parked documents that are due: folds each from its first event up to the checkpoint. Those that fail
 * again stay parked. Call it between batches, when every projection is at the position of the group.
 */
async function retryDue(log: EventLog, group: ProjectionGroup): Promise<void> {
  await group.forEach(async (projector) => {
    const due = projector.parked.takeDue(projector.checkpoint);
    if (due.length === 0) return;
    await projector.reproject(await eventsOf(log, projector, due), group.directory);
    await projector.parked.finishRetry(due, projector.checkpoint);
  });
}

/** All events so far of the parked documents, by document. */
async function eventsOf(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): Promise<ReadonlyMap<string, readonly IncomingEvent[]>> {
  const documents = new Set(due.flatMap(({ document }) => document ?? []));
  const withoutDocument = new Set(
    due.filter(({ document }) => document === undefined).map(({ position }) => position),
  );
  for await (const incoming of readStreams(log, projector, withoutDocument.size === 0 ? [] : due)) {
    if (!withoutDocument.has(incoming.event.position)) continue;
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) documents.add(id);
  }
  const events = new Map<string, IncomingEvent[]>([...documents].map((id) => [id, []]));
  for await (const incoming of readStreams(log, projector, due)) {
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) events.get(id)?.push(incoming);
  }
  return events;
}

async function* readStreams(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): AsyncIterable<IncomingEvent> {
  const { streams: prefixes, acrossStreams: isWhole = false } = projector.projection;
  const streams = new Set(due.map(({ stream }) => stream));
  if (streams.size === 0) return;
  for (const batches of isWhole
    ? [eventsOfAll(log, prefixes)]
    : Array.from(streams, (stream) => log.readStream(stream)))
    for await (const events of batches) {
      const reached = events.filter(({ position }) => position <= projector.checkpoint);
      for (const event of reached) if (projector.handles(event)) yield new IncomingEvent(event);
      if (reached.length < events.length) break;
    }
}

async function* eventsOfAll(
  log: EventLog,
  prefixes: readonly string[],
): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const { events } of log.readAll({ after: START, prefixes })) yield events;
}
