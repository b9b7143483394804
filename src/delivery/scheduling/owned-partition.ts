import { setMaxListeners } from 'node:events';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type LeaseHolder } from '../../runtime/lease-holder';
import { newPromise } from '../../runtime/concurrency';
import { type Outcome, type PartitionEvent, partitionStream } from '../../domain/deliveries/delivery-events';
import {
  PartitionState,
  restorePartition,
  type SavedPart,
  savePartition,
  isUsableOutcome,
  isUsablePart,
} from './partition-state';
import { type Started } from './scheduler';
import { type Clock } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { eventsOf, toNewEvent } from '../../kernel/decider';
import { type NewEvent, NO_STREAM, type RecordedEvent } from '../../kernel/event';

/** A partition that this process sends for. */
export class OwnedPartition {
  /** It has taken in all of `matched`, and is given what is new. */
  isLive = false;
  /** It is being given up: nothing is started any more. */
  isClosing = false;
  /** Its outcomes cannot be appended: nothing is started meanwhile. */
  isInTrouble = false;
  /** Messages that have been started and have no durable outcome. */
  readonly inFlight = new Set<Started>();
  /** Those of them whose outcomes are being appended. */
  readonly ended = new Map<Outcome, Started>();
  /** Messages that were delivered since somebody had asked for them, whose outcomes are being appended. */
  private readonly delivered = new Set<number>();
  /** Messages that become dead letters because they are about to be deleted: none of them is sent any more. */
  readonly expiring = new Set<number>();
  readonly writer: OutcomeWriter;
  readonly lease: LeaseHolder;
  /** That of the lease in which nobody else has had the partition: in another one nothing is started. */
  term: number;
  /** They wait until nothing is in flight. */
  private readonly waiting = new Set<() => void>();
  /** Attempts end when the partition is lost or given up; appends only when it is lost. */
  private readonly attempts = new AbortController();
  private readonly appends = new AbortController();

  constructor(
    readonly number: number,
    { lease, term }: { readonly lease: LeaseHolder; readonly term: number },
    log: EventLog,
    taken: TakenPartition,
    callbacksOf: (partition: OwnedPartition) => WriterCallbacks,
  ) {
    this.lease = lease;
    this.term = term;
    setMaxListeners(0, this.attempts.signal);
    this.writer = new OutcomeWriter(lease.clock, log, number, taken, callbacksOf(this), this.appends.signal);
  }

  get state(): PartitionState {
    return this.writer.state;
  }

  /** Whether messages may be started. */
  get isOpen(): boolean {
    const isHeld = this.lease.term === this.term;
    return isHeld && !this.isClosing && !this.isInTrouble && !this.signal.aborted;
  }

  /** Another process has it, or may have it. */
  get isLost(): boolean {
    return this.appends.signal.aborted;
  }

  /** Ends attempts. */
  get signal(): AbortSignal {
    return this.attempts.signal;
  }

  /**
   * Whether the message of a scheduled attempt that has failed was delivered meanwhile, since somebody had asked for
   * it.
   */
  isDelivered({ revision, receiver, isManual, outcome }: Outcome): boolean {
    if (isManual === true || outcome === 'delivered' || outcome === 'cancelled') return false;
    if (this.delivered.has(revision)) return true;
    return !this.state.receiver(receiver).isOpen(revision, this.state.matchedUpTo);
  }

  /** Whether a message must not be started, although the state, in which is what is durable, still has it. */
  isOver({ revision, kind }: Pick<Started, 'revision' | 'kind'>): boolean {
    return this.expiring.has(revision) || (kind !== 'redelivery' && this.delivered.has(revision));
  }

  /** The outcome of a message that was started is being appended. */
  appending(outcome: Outcome, started: Started): void {
    this.ended.set(outcome, started);
    if (isDeliveredManually(outcome)) this.delivered.add(outcome.revision);
  }

  /** An outcome is durable, and in the state: of what was started, if it was. */
  appended(outcome: Outcome): Started | undefined {
    const started = this.ended.get(outcome);
    this.ended.delete(outcome);
    if (isDeliveredManually(outcome)) this.delivered.delete(outcome.revision);
    return started;
  }

  /** A message is no longer in flight. */
  done(started: Started): void {
    this.inFlight.delete(started);
    if (this.inFlight.size === 0) this.wake();
  }

  /** Resolves when nothing is in flight, it is lost, or after a time. */
  async idle(mostMs: number): Promise<void> {
    if (this.inFlight.size === 0 || this.isLost) return;
    const { promise, resolve } = newPromise();
    this.waiting.add(resolve);
    const timer = this.lease.clock.timer(mostMs, resolve);
    await promise;
    timer.cancel();
    this.waiting.delete(resolve);
  }

  abortAttempts(): void {
    this.attempts.abort();
  }

  abort(): void {
    this.attempts.abort();
    this.appends.abort();
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
  }
}

function isDeliveredManually({ isManual, outcome }: Outcome): boolean {
  return isManual === true && outcome === 'delivered';
}

export interface WriterCallbacks {
  /** Outcomes are durable: applies them to the state. */
  readonly durable: (outcomes: readonly Outcome[]) => void;
  /** A snapshot of the state is made next. */
  readonly saving: () => void;
  /** Another process has taken the partition over; or a failure that must not occur. */
  readonly lost: (failure: unknown) => void;
  /** Why nothing can be appended; undefined: it can again. */
  readonly trouble: (failure: EngineUnavailable | undefined) => void;
}

const BACKOFF = { first: 50, longest: 5_000 } as const;

/** A snapshot is saved after this many outcomes or messages, more of large states. */
const SAVED_AFTER = { outcomes: 1_000, messages: 20_000, share: 0.1 } as const;

/** Bytes of an append: the events have further texts. */
const MOST_BYTES = APPEND_LIMITS.bytes * 0.8;

/**
 * Appends the outcomes of a partition. While one append is in progress, further outcomes wait for the next. Own
 * failures are repeated with the same event ids until they succeed.
 */
class OutcomeWriter {
  readonly state: PartitionState;
  private revision: number;
  private waiting: { readonly outcome: Outcome; readonly event: NewEvent }[] = [];
  private writing: Promise<void> | undefined;
  private isSaveDue = false;
  private outcomes = 0;
  private savedUpTo: number;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly partition: number,
    { state, revision }: TakenPartition,
    private readonly callbacks: WriterCallbacks,
    private readonly signal: AbortSignal,
  ) {
    this.state = state;
    this.revision = revision;
    this.savedUpTo = state.matchedUpTo;
  }

  get hasWaiting(): boolean {
    return this.waiting.length > 0;
  }

  add(outcome: Outcome): void {
    const event: PartitionEvent = { type: 'MessageAttempted', data: outcome };
    this.waiting.push({ outcome, event: toNewEvent(event, this.clock.uuid()) });
  }

  /** Whether another process has taken the partition over. Raises `EngineUnavailable`. */
  async isTaken(): Promise<boolean> {
    const stream = partitionStream(this.partition);
    for await (const events of this.log.readStream(stream, { from: this.revision + 1 }))
      if (events.some(({ type }) => type === 'PartitionTaken')) return true;
    return false;
  }

  /**
   * Saves a snapshot if anything has changed since the last one; resolves when it and all outcomes before it are
   * durable.
   */
  async save(): Promise<void> {
    this.isSaveDue = this.outcomes > 0 || this.state.matchedUpTo > this.savedUpTo || this.waiting.length > 0;
    await this.flush();
  }

  /** Appends what is waiting. Never rejects. */
  flush(): Promise<void> {
    this.writing ??= this.write().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0 || this.isSaveDue) {
      const batch = this.takeBatch();
      if (!(await this.append(batch.map(({ event }) => event)))) return;
      const outcomes = batch.map(({ outcome }) => outcome);
      this.outcomes += outcomes.length;
      this.callbacks.durable(outcomes);
      if ((this.isSaveDue || this.isLongSinceSaved()) && !(await this.saveState())) return;
    }
  }

  private async saveState(): Promise<boolean> {
    this.isSaveDue = false;
    this.outcomes = 0;
    this.savedUpTo = this.state.matchedUpTo;
    this.callbacks.saving();
    for (const data of savePartition(this.state))
      if (!(await this.append([toNewEvent({ type: 'PartitionSaved', data }, this.clock.uuid())])))
        return false;
    return true;
  }

  private isLongSinceSaved(): boolean {
    const { outcomes, messages, share } = SAVED_AFTER;
    const size = share * this.state.size;
    return (
      this.outcomes >= Math.max(outcomes, size) ||
      this.state.matchedUpTo - this.savedUpTo >= Math.max(messages, size)
    );
  }

  private takeBatch(): typeof this.waiting {
    let bytes = 0;
    const end = this.waiting.findIndex(
      ({ event }, at) => at >= APPEND_LIMITS.events || (bytes += 3 * event.data.length) > MOST_BYTES,
    );
    return this.waiting.splice(0, end === -1 ? this.waiting.length : Math.max(1, end));
  }

  /** False: the partition is lost, or the writer was stopped. */
  private async append(events: readonly NewEvent[]): Promise<boolean> {
    if (events.length === 0) return true;
    const backoff = new Backoff(this.clock, BACKOFF);
    for (let isFirst = true; !this.signal.aborted; isFirst = false) {
      try {
        const stream = partitionStream(this.partition);
        this.revision = (await this.log.append(stream, this.revision, events)).revision;
        if (!isFirst) this.callbacks.trouble(undefined);
        return true;
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) {
          this.callbacks.lost(error instanceof RevisionConflict ? undefined : error);
          return false;
        }
        this.callbacks.trouble(error);
        await backoff.wait(this.signal);
      }
    }
    return false;
  }
}

/** A partition that this process has taken over: its state, and the revision of its stream. */
export interface TakenPartition {
  readonly state: PartitionState;
  readonly revision: number;
}

/** Events per batch: only those after the last snapshot are needed. */
const BATCH = 200;
const MOST_CONFLICTS = 20;

/**
 * Reads the state of a partition from its stream, without what is new in `matched`, and takes the partition over:
 * appends of the process that had it before conflict from now on. Raises `EngineUnavailable`. Takes nothing once the
 * signal has aborted. Undefined: another process has the lease by now, as `hasLease` finds after each read; one that
 * acquires it afterwards has this one's append conflict.
 */
export async function takePartition(
  clock: Clock,
  log: EventLog,
  partition: number,
  {
    owner,
    hasLease = async () => true,
    report = () => undefined,
    signal,
  }: {
    readonly owner: string;
    readonly hasLease?: () => Promise<boolean>;
    readonly report?: (failure: string) => void;
    readonly signal?: AbortSignal;
  },
): Promise<TakenPartition | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const { state, revision } = await readPartition(log, partition, report);
    // A process that stops may have released the lease during the read: this would acquire it again.
    signal?.throwIfAborted();
    if (!(await hasLease())) return undefined;
    signal?.throwIfAborted();
    try {
      const taken: PartitionEvent = {
        type: 'PartitionTaken',
        data: { at: clock.now().toISOString(), owner },
      };
      const appended = await log.append(partitionStream(partition), revision, [
        toNewEvent(taken, clock.uuid()),
      ]);
      return { state, revision: appended.revision };
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === MOST_CONFLICTS) throw error;
    }
  }
}

/** The state as of the end of the partition's stream. */
async function readPartition(
  log: EventLog,
  partition: number,
  report: (failure: string) => void,
): Promise<TakenPartition> {
  let state: PartitionState | undefined;
  const outcomes: Outcome[] = [];
  let revision: number | undefined;
  let parts: SavedPart[] = [];
  const newestFirst = { backwards: true, batchSize: BATCH };
  for await (const event of eventsOf(log, partitionStream(partition), newestFirst)) {
    revision ??= event.revision;
    const skip = (): void => report(skipped(event));
    if (event.type === 'MessageAttempted') {
      const outcome = JSON.parse(event.data) as Outcome;
      if (isUsableOutcome(outcome)) outcomes.push(outcome);
      else skip();
    }
    if (event.type !== 'PartitionSaved') continue;
    const part = JSON.parse(event.data) as SavedPart;
    // The snapshot before it does as well.
    parts = isUsablePart(part) ? precededBy(parts, part) : [];
    state = parts[0]?.part === 1 ? restored(parts) : undefined;
    if (state !== undefined) break;
    if (!isUsablePart(part) || parts[0]?.part === 1) skip();
  }
  state ??= new PartitionState();
  for (const outcome of outcomes.toReversed()) state.settle(outcome);
  return { state, revision: revision ?? NO_STREAM };
}

/** Undefined: another program has written it. */
function restored(parts: readonly SavedPart[]): PartitionState | undefined {
  const state = new PartitionState();
  try {
    restorePartition(state, parts);
    return state;
  } catch {
    return undefined;
  }
}

function skipped({ type, stream, revision }: RecordedEvent): string {
  return (
    `${type} (${stream}@${revision} of the delivery log) cannot be used, and is ignored: another program ` +
    'has written it'
  );
}

/** The parts of a snapshot from the last one back. One without its last part was interrupted, and is ignored. */
function precededBy(later: readonly SavedPart[], part: SavedPart): SavedPart[] {
  if (part.part === part.parts) return [part];
  return later[0]?.part === part.part + 1 ? [part, ...later] : [];
}
