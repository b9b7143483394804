import { type RecordedEvent, START } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { isSameSet } from '../kernel/values';
import { type Generation, NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { Leader } from '../runtime/leader';
import { endingTogether, orIdle } from '../runtime/concurrency';
import { LeaseHolder } from '../runtime/lease-holder';
import { PROJECTED_EVENTS } from '../runtime/metrics';
import { type Span, spansAfter } from '../runtime/tracing';
import { reasonOf } from '../runtime/unavailable';
import { AheadOfLoads } from './ahead';
import { Expiry, type ExpiryParts } from './expiry';
import { partsOf } from './fill';
import { GenerationProjector } from './generation-projector';
import { AsOfSweeper } from './as-of';
import { liveGenerations, nameOf, standbysOf, Sweeper } from './generations';
import { pausedAmong, type ProjectorNote, writeNote } from './notes';
import { lastEventUpTo, OriginRecord } from './origin';
import { DocumentsParked, prepareParked, TooManyParked } from './parked';
import { DOMAIN_LOG, type Projection, type Source } from './projection';
import { ProgressMeter } from './progress-meter';
import { groupsOf, ProjectionGroup, StoppedProjections } from './projection-group';
import { rebuild, type RebuildProgress } from './rebuild';
import { type Moved } from './wait';

export interface RunnerParts {
  readonly clock: Clock;
  readonly owner: string;
  /** Identifies the running code: documents that other code has parked are retried. */
  readonly code: string;
  readonly report?: (error: unknown) => void;
  readonly source?: Source;
  /** For a log that expires. */
  readonly expiry?: ExpiryParts;
  /** How long a generation is kept, and followed, after another has taken its place. */
  readonly retainMs?: number;
  /** Called when everything up to a position can be read. */
  readonly moved?: (moved: Moved) => void;
  /**
   * How long it rests after each batch once it has caught up (ms): what has happened meanwhile is written together,
   * at a fraction of the cost.
   */
  readonly restMs?: number;
  /** Events of a batch, at most: others of the thread wait for it. */
  readonly batchSize?: number;
}

/** Interval for checking the lease, the live generations and requested retries. */
const LOOK_MS = 250;
/** Interval for recording the last applied event, and how it does. */
const RECORD_MS = 1000;
/**
 * Interval for storing the checkpoints of projections without events, each of which is a write: while it is behind, and
 * once it has caught up. Other processes learn by them what can be read.
 */
const FLUSH_MS = { behind: 1000, live: 25 } as const;
const BATCH = 2000;
const BACKOFF_MS = { first: 100, longest: 5000 } as const;

/**
 * Keeps the live generations of all projections up to date by following the log. Only the runner that holds the
 * projector lease does so; the others stand by. It builds missing generations first. After a failure it restarts from
 * the checkpoints, with back-off. A projection with too many parked documents stops while the others continue; it
 * resumes after a retry, a rebuild or a restart.
 *
 * Read models that take loads are followed apart from the others, which are not behind a large one. Generations beside
 * the live ones, which may take their place, are followed too, and so are read models that are far behind, after a
 * pause: nobody waits for them.
 */
export class Runner {
  private readonly leader: Leader;
  private readonly sweeper: Sweeper;
  private readonly asOfSweeper: AsOfSweeper | undefined;
  private running: Promise<void> | undefined;
  private onOpen: () => void = () => undefined;
  private projectors: readonly GenerationProjector[] = [];
  /** Parked documents reported so far, by name of the generation. */
  private readonly reportedParked = new Map<string, number>();
  private readonly origin: OriginRecord;
  private readonly expiry: Expiry | undefined;
  /** The last event that was applied and written. */
  private applied: RecordedEvent | undefined;
  private readonly stopped = new StoppedProjections();
  /** Names of generations beside live ones that have stopped: they are followed again after a restart. */
  private readonly stoppedBeside = new Set<string>();
  private paused: ReadonlySet<string> = new Set();
  /** Some that were far behind have caught up: they join the others. */
  private isJoining = false;
  private failure: unknown;
  private building: RebuildProgress | undefined;
  private readonly meter: ProgressMeter;
  /** Since when groups are behind. */
  private readonly behind = new Map<ProjectionGroup, string>();
  private noted = { text: '', at: -Infinity };

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly parts: RunnerParts,
  ) {
    const { clock, owner, source = DOMAIN_LOG, expiry } = parts;
    const { name, ms } = source.projectorLease;
    this.meter = new ProgressMeter(clock);
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

  /** The failure since the last successful write, or the projections that have stopped; undefined while all is well. */
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
    if (this.failure !== undefined) await this.note();
    await this.origin.claim((message) => this.parts.report?.(message));
    await this.buildMissing();
    this.projectors = await this.openProjectors();
    const own = new Set(this.projectors.map(({ generation }) => nameOf(generation)));
    for (const name of this.reportedParked.keys()) if (!own.has(name)) this.reportedParked.delete(name);
    await this.setPaused(await pausedAmong(this.store, this.names));
    const { main, apart } = await this.groups();
    for (const group of main) await group.retryDue(this.log);
    this.onOpen();
    this.isJoining = false;
    this.behind.clear();
    await this.leader
      .leadWith(
        async (signal) => {
          await endingTogether(signal, [
            ...main.map((group) => (own: AbortSignal) => this.follow(group, own)),
            ...(apart === undefined ? [] : [(own: AbortSignal) => this.followApart(apart, own)]),
          ]);
        },
        (signal) => this.mayLead(signal),
      )
      .catch(async (error: unknown) => {
        // A generation was dropped while it was followed: it starts again with those that are left.
        if (!(error instanceof NoGeneration)) throw error;
        if (await this.isFollowing(await liveGenerations(this.store, this.projections))) throw error;
      });
    await this.findApplied(main);
    await this.origin.record(this.applied, 0);
  }

  /** An event is applied and written; the last one of all groups is recorded. */
  private hasApplied(event: RecordedEvent | undefined): void {
    if (event !== undefined && event.position > (this.applied?.position ?? START)) this.applied = event;
  }

  /** It may have been stopped before the log has delivered anything. */
  private async findApplied(groups: readonly ProjectionGroup[]): Promise<void> {
    if (this.applied !== undefined) return;
    for (const { position, prefixes } of groups)
      this.hasApplied(await lastEventUpTo(this.log, position, prefixes));
  }

  private async follow(group: ProjectionGroup, signal: AbortSignal): Promise<void> {
    const { position: after, prefixes } = group;
    let isWriting = false;
    let hasCaughtUp = false;
    let last: RecordedEvent | undefined;
    const { clock, source = DOMAIN_LOG, restMs, batchSize = BATCH } = this.parts;
    let [flushed, owes] = [-Infinity, false];
    let spans: readonly Span[] = [];
    // A log without its last event is recognised as an older one, though checkpoints have not
    // reached it (decisions X31).
    const ahead = new AheadOfLoads(clock, this.log, this.store, async (event) => {
      this.hasApplied(event);
      await this.origin.record(this.applied, 0);
    });
    const untilFlush = (): number | undefined =>
      owes ? flushed + FLUSH_MS.live - clock.monotonic() : undefined;
    try {
      const batches = this.log.subscribe({ after, prefixes, batchSize, signal });
      for await (const batch of orIdle(clock, batches, untilFlush)) {
        if (batch === 'idle') {
          await group.flush();
          [flushed, owes] = [clock.monotonic(), false];
          continue;
        }
        if (!batch.caughtUp && !this.behind.has(group)) this.behind.set(group, clock.now().toISOString());
        const started = spansAfter(batch.events, {
          name: 'project',
          kind: 'consumer',
          attributes: { 'affilog.events': batch.events.length },
        });
        for (const part of partsOf(batch, () => ahead.part(group))) {
          await ahead.timed(part.events.length, () => group.apply(part, signal));
          if (!batch.caughtUp) await ahead.look(group);
        }
        this.meter.count(batch.events.length);
        PROJECTED_EVENTS.add(batch.events.length, { log: source === DOMAIN_LOG ? 'events' : 'deliveries' });
        // `apply` returns once the previous batch is written.
        this.hasApplied(last);
        for (const span of spans) span.end();
        spans = started;
        last = batch.events.at(-1) ?? last;
        const sinceFlush = clock.monotonic() - flushed;
        if (batch.caughtUp || sinceFlush >= FLUSH_MS.behind) {
          owes = sinceFlush < FLUSH_MS.live;
          await (owes ? group.written() : group.flush());
          if (!owes) flushed = clock.monotonic();
          this.parts.moved?.({ to: batch.position, generations: group.generations });
          for (const span of spans) span.end();
          spans = [];
        }
        if (batch.caughtUp) this.behind.delete(group);
        // Events applied before this subscription, for example by a rebuild, are looked up once.
        if (batch.caughtUp && !hasCaughtUp) last ??= await lastEventUpTo(this.log, batch.position, prefixes);
        if (batch.caughtUp) this.hasApplied(last);
        hasCaughtUp ||= batch.caughtUp;
        if (batch.caughtUp || isWriting) this.failure = undefined;
        isWriting = true;
        this.reportParked();
        if (group.isFinished) return;
        if (restMs !== undefined && batch.caughtUp) await clock.pause(restMs, signal).catch(() => undefined);
      }
    } finally {
      await group.flush();
    }
    if (!signal.aborted) throw new EngineUnavailable('the log has ended the subscription');
  }

  /** Follows what the others do not wait for; ends once a read model among it has caught up. */
  private async followApart(group: ProjectionGroup, signal: AbortSignal): Promise<void> {
    const { position: after, prefixes } = group;
    await group.retryDue(this.log);
    const hasLive = this.projectors.some(
      (projector) => projector.generation.state === 'live' && group.has(projector),
    );
    try {
      for await (const batch of this.log.subscribe({ after, prefixes, batchSize: BATCH, signal })) {
        await group.apply(batch, signal);
        await group.flush();
        this.reportParked();
        this.isJoining ||= hasLive && batch.caughtUp;
        if (this.isJoining || group.isFinished) return;
      }
    } finally {
      await group.flush();
    }
    if (!signal.aborted) throw new EngineUnavailable('the log has ended the subscription');
  }

  /**
   * The read models that are followed together, and what nobody waits for: generations beside live ones, and read
   * models that are more than a batch behind the others of their group.
   */
  private async groups(): Promise<{
    readonly main: readonly ProjectionGroup[];
    readonly apart?: ProjectionGroup;
  }> {
    const { log } = this;
    const followed = this.projectors.filter(({ generation }) => !this.paused.has(generation.collection));
    const isLive = ({ generation }: GenerationProjector): boolean => generation.state === 'live';
    const live = await this.stopped.without(followed.filter(isLive));
    const beside = followed.filter((one) => !isLive(one) && !this.stoppedBeside.has(nameOf(one.generation)));
    const { near, far } = await groupsOf(log, live, BATCH);
    const apart = [...beside, ...far];
    const open = (projectors: readonly GenerationProjector[]) =>
      ProjectionGroup.open(log, projectors, ({ generation }, error) => {
        if (generation.state === 'live') return this.stopProjection(error, generation.number);
        this.stoppedBeside.add(nameOf(generation));
        this.parts.report?.(error);
      });
    return {
      main: await Promise.all((near.length === 0 ? [[]] : near).map(open)),
      ...(apart.length === 0 ? {} : { apart: await open(apart) }),
    };
  }

  private reportParked(): void {
    for (const { generation, parked } of this.projectors) {
      const name = nameOf(generation);
      if (parked.size > (this.reportedParked.get(name) ?? 0))
        this.parts.report?.(new DocumentsParked(name, parked.size));
      this.reportedParked.set(name, parked.size);
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
    await this.note().catch(report);
    if (this.isJoining) return false;
    const paused = await pausedAmong(this.store, this.names);
    if (!isSameSet(paused, this.paused)) return false;
    if (!(await this.isFollowing(live))) return false;
    for (const { parked, generation } of this.projectors)
      if (!paused.has(generation.collection) && (await parked.isRetryRequested())) return false;
    return true;
  }

  private get names(): readonly string[] {
    return this.projections.map(({ collection }) => collection.name);
  }

  /** Nothing is followed yet: what is paused stays as it is from now on, which is noted for those who wait for it. */
  private async setPaused(paused: ReadonlySet<string>): Promise<void> {
    const isChanged = !isSameSet(paused, this.paused);
    this.paused = paused;
    if (!isChanged) return;
    this.noted = { ...this.noted, at: -Infinity };
    await this.note().catch((error: unknown) => this.parts.report?.(error));
  }

  /** Whether it follows these, and those beside them. */
  private async isFollowing(live: readonly (Generation | undefined)[]): Promise<boolean> {
    const followed = new Set((await this.followedNow(live)).map(keyOf));
    return isSameSet(followed, new Set(this.projectors.map(({ generation }) => keyOf(generation))));
  }

  /** The live generations, and those beside them. */
  private async followedNow(live: readonly (Generation | undefined)[]): Promise<readonly Generation[]> {
    return [...live.filter((one) => one !== undefined), ...(await standbysOf(this.store, this.projections))];
  }

  /** Leaves a note of how it does, if that has changed, at most once a second. */
  private async note(): Promise<void> {
    const { clock, source = DOMAIN_LOG } = this.parts;
    const trouble = this.failure === undefined ? undefined : reasonOf(this.failure);
    const [behindSince] = [...this.behind.values()].sort();
    const note: ProjectorNote = {
      stopped: this.stopped.names,
      ...(this.paused.size === 0 ? {} : { paused: [...this.paused] }),
      rate: Math.round(this.meter.rate),
      ...(trouble === undefined ? {} : { trouble }),
      ...(behindSince === undefined ? {} : { behindSince }),
    };
    const text = JSON.stringify(note);
    if (text === this.noted.text || clock.monotonic() - this.noted.at < RECORD_MS) return;
    await writeNote(this.store, 'projector', source.projectorLease.name, note);
    this.noted = { text, at: clock.monotonic() };
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
        // Nobody follows what is live meanwhile: there is nothing to wait for.
        const parts = { ...this.parts, signal, force: true, beside: [], onProgress };
        await rebuild(this.log, this.store, missing, parts);
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
    const live = await liveGenerations(this.store, this.projections);
    for (const [at, { collection }] of this.projections.entries())
      if (live[at] === undefined && !this.stopped.has(collection.name))
        throw new NoGeneration({ collection: collection.name });
    const projectors: GenerationProjector[] = [];
    for (const generation of await this.followedNow(live)) {
      const projection = this.projections.find(({ collection }) => collection.name === generation.collection);
      if (projection === undefined) continue;
      const { log, store, parts } = this;
      try {
        projectors.push(await GenerationProjector.open(log, store, projection, generation, parts.code));
      } catch (error) {
        // It was dropped a moment ago.
        if (!(error instanceof NoGeneration) || generation.state === 'live') throw error;
      }
    }
    return projectors;
  }
}

/** What is followed, and whether it is live. */
function keyOf(generation: Generation): string {
  return `${nameOf(generation)} ${generation.state === 'live' ? 'live' : 'beside'}`;
}
