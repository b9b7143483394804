import { setTimeout as pause } from 'node:timers/promises';
import { Backoff } from '../kernel/backoff';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type Generation, NoGeneration, type ReadStore } from '../kernel/read-store';
import { reasonOf } from '../kernel/reason';
import { GenerationFold } from './generation-fold';
import { liveGeneration, nameOf, targetOf } from './generations';
import { HeldLease, PROJECTOR_LEASE } from '../kernel/held-lease';
import { LogPass } from './log-pass';
import { Meter } from './meter';
import { claimStore, isClaimLive, lastEventUpTo, recordFolded } from './origin';
import { prepareParked, TooManyParked } from './parked';
import { type Projection } from './projection';
import { rebuild } from './rebuild';
import { retryDue } from './retry';
import { StoppedProjections } from './stopped';
import { Sweeper } from './sweep';

export interface RunnerOptions {
  /** A name that no other process has. */
  readonly owner: string;
  /** What the running code is known by: what other code could not fold is tried again. */
  readonly code: string;
  /** Told of every failure; the runner goes on by itself. */
  readonly report?: (error: unknown) => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface ProjectionStatus {
  readonly collection: string;
  /** The live generation, absent when there is none of this version yet. */
  readonly generation?: number;
  readonly checkpoint: Position;
  readonly head: Position;
  /** Events a second, of late. */
  readonly rate: number;
  readonly parked: number;
}

/** Documents have been put aside that events could not be folded into: they stay as they were. */
class DocumentsParked extends Error {
  override readonly name = 'DocumentsParked';
  constructor(generation: string, parked: number) {
    super(`${parked} documents of ${generation} could not be folded and are parked, each with its reason`);
  }
}

/** How soon a lost lease, a swap and an asked for retry are noticed. */
const WATCH_MS = 250;
/** How often it is recorded which event was folded last. */
const RECORD_MS = 1000;
const BATCH = 2000;
const BACKOFF_MS = { first: 100, longest: 5000 } as const;

/**
 * Keeps the live generations of all projections up to date: follows the log in one pass for as long as it holds
 * the projector's lease; a second runner waits for that. A generation that is missing is built first. Whatever
 * fails, it begins again from the checkpoints, a little later each time. A projection with too many parked documents
 * stops, the others continue: it resumes when they are retried, when it was rebuilt, and with the next start.
 */
export class Runner {
  private readonly stopping = new AbortController();
  private readonly now: () => number;
  private readonly lease: HeldLease;
  private readonly meter: Meter;
  private readonly sweeper: Sweeper;
  private running: Promise<void> | undefined;
  private folds: readonly GenerationFold[] = [];
  private readonly toldParked = new Map<number, number>();
  /** The record of whose the read models are, once the log has events. */
  private claim: Generation | undefined;
  /** The last event that was folded and written. */
  private folded: RecordedEvent | undefined;
  private recorded: { readonly event: RecordedEvent; readonly at: number } | undefined;
  private readonly stopped = new StoppedProjections();
  private failure: unknown;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly options: RunnerOptions,
  ) {
    this.now = options.now ?? Date.now;
    this.lease = new HeldLease(store, PROJECTOR_LEASE.name, options.owner, PROJECTOR_LEASE.ms, this.now);
    this.meter = new Meter(this.now);
    this.sweeper = new Sweeper(store, projections, options.owner, this.now);
  }

  /** Begins; resolves when there is a live generation of each projection to read, or when it has been stopped. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.running ??= this.run(resolve).finally(resolve);
    });
  }

  /** Ends it after the batch at hand. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /**
   * Why it does not get on, since it last has written something, or which projections have stopped; undefined while all
   * is well.
   */
  trouble(): string | undefined {
    return this.failure === undefined ? this.stopped.trouble() : reasonOf(this.failure);
  }

  async status(): Promise<readonly ProjectionStatus[]> {
    const head = await this.log.head();
    return await Promise.all(
      this.projections.map(async ({ collection }) => {
        const live = await liveGeneration(this.store, collection);
        const fold = this.folds.find(({ projection }) => projection.collection === collection);
        return {
          collection: collection.name,
          ...(live && { generation: live.number }),
          checkpoint: live === undefined ? START : await this.store.checkpoint(targetOf(live)),
          head,
          rate: this.meter.rate,
          parked: fold?.parked.size ?? 0,
        };
      }),
    );
  }

  private async run(onOpen: () => void): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new Backoff(BACKOFF_MS);
    while (!signal.aborted) {
      try {
        if (await this.lease.hold()) await this.lease.during(() => this.lead(onOpen));
        else await this.standBy(onOpen);
        backoff.reset();
      } catch (error) {
        if (isAbort(error)) continue;
        this.failure = error;
        this.options.report?.(error);
        await backoff.wait(signal);
      }
    }
    await this.lease.release().catch((error: unknown) => this.options.report?.(error));
  }

  /** Projects until it is stopped or must begin again. */
  private async lead(onOpen: () => void): Promise<void> {
    this.folded = this.recorded = undefined;
    this.claim = await claimStore(this.log, this.store, this.projections);
    await this.buildMissing();
    this.folds = await this.openFolds();
    const pass = await LogPass.open(this.log, await this.stopped.without(this.folds), (fold, error) =>
      this.leave(error, fold.generation.number),
    );
    await retryDue(this.log, pass);
    onOpen();
    const turn = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, turn.signal]);
    const work = [this.follow(pass, signal), this.watch(signal)];
    const ends = await Promise.allSettled(work.map((part) => part.finally(() => turn.abort())));
    for (const end of ends) if (end.status === 'rejected' && !isAbort(end.reason)) throw end.reason;
    await this.recordFolded(0);
  }

  private async follow(pass: LogPass, signal: AbortSignal): Promise<void> {
    const { position: after, prefixes } = pass;
    let isWriting = false;
    let hasCaughtUp = false;
    let taken: RecordedEvent | undefined;
    try {
      for await (const batch of this.log.subscribe({ after, prefixes, batchSize: BATCH, signal })) {
        await pass.take(batch, signal);
        this.folded = taken ?? this.folded;
        taken = batch.events.at(-1) ?? taken;
        if (batch.caughtUp) await pass.written();
        // What was folded before this pass, by a rebuild perhaps, has to be looked up: once.
        if (batch.caughtUp && !hasCaughtUp) taken ??= await lastEventUpTo(this.log, batch.position, prefixes);
        if (batch.caughtUp) this.folded = taken;
        hasCaughtUp ||= batch.caughtUp;
        // A batch is taken when the one before it is written.
        if (batch.caughtUp || isWriting) this.failure = undefined;
        isWriting = true;
        this.meter.count(batch.events.length);
        this.tellParked();
        if (pass.isOver) return;
      }
    } finally {
      await pass.written();
    }
    if (!signal.aborted) throw new EngineUnavailable('the log has ended the subscription');
  }

  /** Reports documents that have been parked since it was last asked. */
  private tellParked(): void {
    for (const { generation, parked } of this.folds) {
      const told = this.toldParked.get(generation.number) ?? 0;
      if (parked.size > told) this.options.report?.(new DocumentsParked(nameOf(generation), parked.size));
      this.toldParked.set(generation.number, parked.size);
    }
  }

  /** A projection has too many parked documents: the others go on. */
  private leave(error: TooManyParked, generation?: number): void {
    this.stopped.add(error.collection, generation);
    this.options.report?.(error);
  }

  /**
   * Sweeps; returns when the lease is lost, another generation has become the live one, the claim was replaced, or a
   * retry is asked for.
   */
  private async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.sweeper.sweep().catch((error: unknown) => this.options.report?.(error));
      await pause(WATCH_MS, undefined, { signal });
      if (!(await this.lease.hold())) return;
      this.claim ??= await claimStore(this.log, this.store, this.projections);
      if (this.claim !== undefined && !(await isClaimLive(this.store, this.claim))) return;
      await this.recordFolded(RECORD_MS);
      for (const { collection } of this.projections) {
        const fold = this.folds.find(({ projection }) => projection.collection === collection);
        const live = await liveGeneration(this.store, collection);
        if (live?.number !== fold?.generation.number || (await fold?.parked.isRetryAsked()) === true) return;
      }
    }
  }

  /** Records the last event folded, by which an older log is known, unless that was done less than so long ago. */
  private async recordFolded(leastMs: number): Promise<void> {
    const { claim, folded: event, recorded } = this;
    if (claim === undefined || event === undefined || event === recorded?.event) return;
    const now = this.now();
    if (recorded !== undefined && now - recorded.at < leastMs) return;
    await recordFolded(this.store, claim, event);
    this.recorded = { event, at: now };
  }

  /** Waits for its turn. */
  private async standBy(onOpen: () => void): Promise<void> {
    if ((await this.missing()).length === 0) onOpen();
    // Whoever leads tries what has stopped.
    this.stopped.clear();
    this.failure = undefined;
    await pause(WATCH_MS, undefined, { signal: this.stopping.signal });
  }

  private async buildMissing(): Promise<void> {
    await prepareParked(this.store);
    const { signal } = this.stopping;
    // What cannot be folded is parked: a server with most of its data is better than none.
    const onProgress = (): void => (this.failure = undefined);
    for (;;) {
      const missing = (await this.missing()).filter(({ collection }) => !this.stopped.has(collection.name));
      if (missing.length === 0) return;
      try {
        await rebuild(this.log, this.store, missing, { ...this.options, signal, force: true, onProgress });
      } catch (error) {
        if (!(error instanceof TooManyParked)) throw error;
        this.leave(error);
      }
    }
  }

  private async missing(): Promise<readonly Projection[]> {
    const live = await Promise.all(
      this.projections.map(({ collection }) => liveGeneration(this.store, collection)),
    );
    return this.projections.filter((_, at) => live[at] === undefined);
  }

  private async openFolds(): Promise<readonly GenerationFold[]> {
    const folds: GenerationFold[] = [];
    for (const projection of this.projections) {
      const generation = await liveGeneration(this.store, projection.collection);
      if (generation === undefined && this.stopped.has(projection.collection.name)) continue;
      if (generation === undefined)
        throw new NoGeneration(`${projection.collection.name} is no longer of this version`);
      folds.push(await GenerationFold.open(this.log, this.store, projection, generation, this.options.code));
    }
    return folds;
  }
}

/** By its name: Node.js makes it of a class that tests do not share. */
function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}
