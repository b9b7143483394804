import { type Clock } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { toNewEvent } from '../../kernel/decider';
import { type NewEvent } from '../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Outcome, type PartitionEvent, partitionStream } from '../../domain/deliveries/delivery-events';
import { savePartition } from './saved-partition';
import { type TakenPartition } from './partition-log';
import { type PartitionState } from './partition-state';

/** What the writer reports. */
export interface WriterEvents {
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
export class OutcomeWriter {
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
    private readonly events: WriterEvents,
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
      this.events.durable(outcomes);
      if ((this.isSaveDue || this.isLongSinceSaved()) && !(await this.saveState())) return;
    }
  }

  private async saveState(): Promise<boolean> {
    this.isSaveDue = false;
    this.outcomes = 0;
    this.savedUpTo = this.state.matchedUpTo;
    this.events.saving();
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
        if (!isFirst) this.events.trouble(undefined);
        return true;
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) {
          this.events.lost(error instanceof RevisionConflict ? undefined : error);
          return false;
        }
        this.events.trouble(error);
        await backoff.wait(this.signal);
      }
    }
    return false;
  }
}
