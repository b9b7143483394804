import { type Message, type Outcome, whyUnsendable } from '../../domain/deliveries/delivery-events';
import { reportedFailure } from '../../domain/deliveries/health';
import { type RecordedEvent } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { Alarm, type Clock, type Timer } from '../../runtime/clock';
import { ATTEMPT_SECONDS, DELIVERY_OUTCOMES, DELIVERY_SECONDS } from '../../runtime/metrics';
import { startSpan } from '../../runtime/tracing';
import { atMost } from '../../runtime/unavailable';
import { FairQueue } from '../../runtime/fair-queue';
import { type Rerenderer } from '../matching/rerender';
import { type Attempt, type AttemptResult } from '../sending/attempt';
import { DeadLetters, Disabling, untilDone, expireOld } from './dead-letters';
import { isTestMessage, type PartitionState } from './partition-state';
import { MessageCache } from './message-cache';
import {
  attemptNumber,
  cancelledOutcome,
  failingFor,
  isFailedAttempt,
  outcomeOf,
  outcomeWithout,
  OwnFaults,
  withDeadLetter,
  withoutEffect,
  withoutRate,
} from './outcome';
import { type OwnedPartition, type WriterCallbacks } from './owned-partition';
import { type ReceiverState } from './receiver-state';
import { type Recipients } from './recipients';
import { Scheduler, type SchedulerParts, type ServedReceiver, type Started } from './scheduler';
import { LIMITS } from './slots';

/** Makes one attempt; never rejects. */
export type MakeAttempt = (attempt: Attempt, signal: AbortSignal) => Promise<AttemptResult>;

export interface DispatcherParts {
  /**
   * What is scheduled in this process is due at monotonic times (`docs/decisions.md#n3`). A stored time is a wall time:
   * how far ahead it is, is asked once and at once, so setting the system clock afterwards changes nothing.
   */
  readonly clock: Clock;
  /** The domain log. */
  readonly log: EventLog;
  /** The delivery log. */
  readonly deliveries: EventLog;
  readonly recipients: Recipients;
  readonly attempt: MakeAttempt;
  readonly rerenderer: Pick<Rerenderer, 'current'>;
  readonly report: (failure: unknown) => void;
}

/** Outcomes of this many milliseconds are appended together: each append has its costs. */
const FLUSH_MS = 10;

/** How long dead letters of expired messages are waited for before more of them are made (ms). */
const RECORD_MS = 5_000;

/** How long to wait for a log that is behind (ms). */
const BEHIND_MS = 50;

const RENDERED = { atOnce: 8, perClient: 4 } as const;

/** After a failure of ours, the next attempt of the receiver starts no earlier (ms). */
const OWN_FAULT_MS = 1_000;

/** Sends what the scheduler chooses, and records the outcomes. */
export class Dispatcher {
  readonly partitions = new Map<number, OwnedPartition>();
  readonly faults: OwnFaults;
  private readonly cache: MessageCache;
  private readonly deadLetters: DeadLetters;
  private readonly disabling: Disabling;
  private readonly scheduler: Scheduler;
  private isPumping = false;
  /** Whether messages of a partition may be started, as it was found while what can be started is started. */
  private readonly open = new Map<number, boolean>();
  private readonly alarm: Alarm;
  private flushing: Timer | undefined;
  /** Organisations take turns in having messages rendered when they are sent, each of which reads its event. */
  private readonly rendered = new FairQueue(RENDERED);

  /** `longestMs`: what an attempt may take. None is started that may last longer than the lease. */
  constructor(
    private readonly parts: DispatcherParts,
    private readonly longestMs: number,
  ) {
    const { clock, log, report } = parts;
    this.alarm = new Alarm(clock, () => this.pump());
    this.cache = new MessageCache(parts.deliveries, (receiver, revision) => {
      const state = this.scheduler.served(receiver)?.state;
      return state !== undefined && isWanted(state, revision);
    });
    this.scheduler = new Scheduler(this.schedulerParts());
    this.faults = new OwnFaults(clock, report);
    this.deadLetters = new DeadLetters(clock, log, report);
    this.disabling = new Disabling(clock, log, report);
  }

  /** The present of what is scheduled. */
  private get now(): number {
    return this.parts.clock.monotonic();
  }

  get inFlight(): number {
    return this.scheduler.inFlight;
  }

  /** Starts sending for a partition. */
  add(partition: OwnedPartition): void {
    this.partitions.set(partition.number, partition);
    for (const [id, state] of partition.state.receivers)
      this.scheduler.serve(id, partition.number, state, this.now);
    this.deadLetters.record(partition).catch(this.parts.report);
    this.pump();
  }

  /** Drops a partition: its attempts are aborted, and count nothing. */
  remove(partition: OwnedPartition): void {
    if (this.partitions.get(partition.number) !== partition) return;
    this.partitions.delete(partition.number);
    for (const [id, { queue, retries }] of partition.state.receivers) {
      this.scheduler.leave(id);
      for (const revision of [...queue, ...retries.keys()]) this.cache.delete(revision);
    }
    partition.abort();
    for (const started of partition.ended.values()) this.end(partition, started, undefined);
    partition.ended.clear();
  }

  /** A partition has taken something for a receiver. */
  taken(partition: OwnedPartition, id: string, event?: RecordedEvent): void {
    if (this.partitions.get(partition.number) !== partition) return;
    const known = this.scheduler.served(id);
    const receiver =
      known ?? this.scheduler.serve(id, partition.number, partition.state.receiver(id), this.now);
    if (event !== undefined) this.takenEvent(receiver, event, known === undefined);
    this.scheduler.wake(receiver);
  }

  /** `isNew`: the receiver is served since this event, and has what its state has. */
  private takenEvent(receiver: ServedReceiver, event: RecordedEvent, isNew: boolean): void {
    const { state } = receiver;
    const { revision } = event;
    // After a take-over some of what is read has been attempted.
    switch (event.type) {
      case 'MessageDue': {
        // What had an outcome before it was read is not sent any more.
        if (!isWanted(state, revision) && state.unreadFrom === undefined) return;
        const isFirst = isTestMessage(event);
        const isNext = isFirst || state.queue.size <= LIMITS.receiver;
        this.cache.add(revision, event.data, isNext, event.meta);
        if (isFirst && state.queue.has(revision)) this.scheduler.sendTest(receiver, revision, this.now);
        return;
      }
      case 'RedeliveryDue':
        if (!isNew && state.redeliveries.has(revision))
          this.scheduler.redeliver(receiver, revision, this.now);
        return;
      case 'ProbeDue':
        this.scheduler.probe(receiver, this.now);
    }
  }

  /** Permissions may have changed, or partitions. */
  reconsider(): void {
    this.scheduler.reconsider();
    this.pump();
  }

  /** Starts what can be started, soon. */
  pump(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    queueMicrotask(() => {
      this.isPumping = false;
      this.open.clear();
      const time = this.now;
      for (let next = this.scheduler.next(time); next !== undefined; next = this.scheduler.next(time))
        this.run(next).catch(this.parts.report);
      this.alarm.set(this.scheduler.nextTime);
    });
  }

  writerCallbacks(partition: OwnedPartition): WriterCallbacks {
    return {
      durable: (outcomes) => {
        for (const outcome of outcomes) this.settle(partition, outcome);
        this.deadLetters.record(partition).catch(this.parts.report);
        this.pump();
      },
      saving: () => dropGone(partition.state, this.scheduler, this.parts.recipients),
      lost: (failure) => {
        if (failure !== undefined) this.parts.report(failure);
        else partition.lease.doubt();
        this.remove(partition);
      },
      trouble: (failure) => {
        partition.isInTrouble = failure !== undefined;
        if (failure !== undefined) this.parts.report(failure);
        else this.reconsider();
      },
    };
  }

  /** Appends an outcome; `started` ends when it is durable. */
  async record(
    partition: OwnedPartition,
    ended: Outcome,
    { message, started }: { readonly message: Message; readonly started?: Started },
  ): Promise<void> {
    const state = partition.state.receiver(ended.receiver);
    if (isFailedAttempt(ended)) await this.disabling.check(partition, state.health, ended);
    if (partition.isLost) {
      if (started !== undefined) this.end(partition, started, undefined);
      return;
    }
    // Meanwhile a redelivery may have delivered the message.
    const decided = partition.isDelivered(ended) ? withoutEffect(ended) : ended;
    const outcome = decided.outcome === 'dead' ? withDeadLetter(decided, message, state) : decided;
    this.disabling.becomes(ended, outcome);
    if (started !== undefined) partition.appending(outcome, started);
    partition.writer.add(outcome);
    this.flushing ??= this.parts.clock.timer(FLUSH_MS, () => {
      this.flushing = undefined;
      for (const { writer } of this.partitions.values())
        if (writer.hasWaiting) writer.flush().catch(this.parts.report);
    });
  }

  /**
   * Makes dead letters of some messages that were due before a time (epoch ms); returns how many, and whether none is
   * left.
   */
  async expireOld(before: number): Promise<{ readonly count: number; readonly isLast: boolean }> {
    const { clock, recipients } = this.parts;
    const owned = [...this.partitions.values()].filter(({ isOpen }) => isOpen);
    // Those of the last time are recorded first: they are in memory until then.
    const partitions = owned.filter(({ state }) => state.deadLetters.size === 0);
    const parts = { clock, partitions, recipients, cache: this.cache, record: this.record.bind(this) };
    const count = await expireOld(parts, before);
    const recorded = partitions.map((partition) => this.deadLetters.record(partition));
    await atMost(clock, RECORD_MS, Promise.all(recorded));
    return { count, isLast: count === 0 && partitions.length === owned.length };
  }

  /** No further timers. */
  stop(): void {
    this.alarm.stop();
  }

  private async run(started: Started): Promise<void> {
    const partition = this.partitions.get(started.receiver.partition);
    if (partition === undefined) {
      this.scheduler.ended(started, undefined, this.now);
      return;
    }
    partition.inFlight.add(started);
    let outcome: Outcome | undefined;
    try {
      outcome = await this.outcome(partition, started);
    } catch (error) {
      // A bug: it must not cost the message an attempt.
      this.parts.report(error);
    }
    if (outcome === undefined) this.end(partition, started, undefined);
    else await this.record(partition, outcome, { message: started.message, started });
  }

  /** Undefined: it was no attempt. */
  private async outcome(partition: OwnedPartition, started: Started): Promise<Outcome | undefined> {
    const { kind, message, receiver, permission, redelivery, revision } = started;
    const wall = this.parts.clock.wall();
    const { id, sequence, request, subscriptionId, isTest } = message;
    if (partition.isOver(started)) return undefined;
    // What has not been read yet may cancel it.
    if (kind === 'redelivery' && !partition.isLive) return undefined;
    // A redelivery leaves the message as it is: its schedule, if it has one, is cancelled by itself.
    if (permission !== 'send')
      return kind === 'redelivery'
        ? outcomeWithout(started, 'failed', wall)
        : cancelledOutcome(started, permission, wall);
    if (message.awaitsRate !== undefined && kind !== 'redelivery') return withoutRate(started, wall);
    if (request === undefined)
      return outcomeWithout(started, kind === 'redelivery' ? 'failed' : 'dead', wall, whyUnsendable(message));
    const attempt: Attempt = {
      id,
      sequence,
      request,
      number: attemptNumber(started, receiver.state),
      secrets: this.parts.recipients.secretsOf(subscriptionId, wall),
      isManual: redelivery !== undefined,
      isTest,
    };
    const parent = this.cache.traceOf(started.revision);
    const attributes = { 'affilog.message.id': id, 'affilog.attempt': attempt.number };
    const span = parent && startSpan({ name: 'deliver', kind: 'client', parent, attributes });
    const result = await this.parts.attempt(attempt, partition.signal);
    if (span) {
      const { end, status } = result;
      span.end({ 'affilog.end': end, 'http.response.status_code': status }, end !== 'success');
    }
    const classified = this.faults.classify(result, partition.signal.aborted);
    ATTEMPT_SECONDS.observe(classified.ms / 1000, { end: classified.end });
    if (classified.end === 'aborted') return undefined;
    // What was asked for meanwhile is done.
    const isAccepted = classified.end === 'success';
    const ends = redelivery ?? (isAccepted ? receiver.lane.askedFor(revision) : undefined);
    return outcomeOf({ ...started, redelivery: ends }, receiver.state, classified);
  }

  /** An outcome is durable. */
  private settle(partition: OwnedPartition, outcome: Outcome): void {
    const receiver = partition.state.receiver(outcome.receiver);
    const before = receiver.health;
    partition.state.settle(outcome, receiver);
    if (isFailedAttempt(outcome)) {
      const ms = reportedFailure(before, receiver.health);
      if (ms !== undefined) this.parts.report(failingFor(ms, outcome));
      // Of several attempts that have ended together, only the last one may have been too many.
      this.disabling.check(partition, before, outcome).catch(this.parts.report);
    }
    const started = partition.appended(outcome);
    count(outcome, started?.message);
    this.cache.delete(outcome.revision);
    if (started !== undefined) this.end(partition, started, outcome);
    else this.settled(outcome);
  }

  /** A message is over that was not being sent: others may have waited for it. */
  private settled({ receiver, revision }: Outcome): void {
    const served = this.scheduler.served(receiver);
    if (served === undefined) return;
    served.lane.settled(revision);
    this.scheduler.wake(served);
  }

  private end(partition: OwnedPartition, started: Started, outcome: Outcome | undefined): void {
    partition.done(started);
    this.scheduler.ended(started, outcome, this.now, outcome === undefined ? OWN_FAULT_MS : 0);
    if (outcome === undefined) this.pump();
  }

  private async load(receiver: ServedReceiver, revision: number, isRedelivery: boolean): Promise<void> {
    const load = (): Promise<boolean> => this.loadCurrent(revision, isRedelivery);
    const isThere = await untilDone(this.parts.clock, load, () => receiver.isGone, this.parts.report);
    if (isThere === false) this.forget(receiver, revision);
    this.scheduler.loaded(receiver);
    this.pump();
  }

  /**
   * Reads a message, rendered again if its receiver has changed since. False: it is no longer in the log, or not
   * usable.
   */
  private async loadCurrent(revision: number, isRedelivery: boolean): Promise<boolean> {
    const { recipients, rerenderer } = this.parts;
    const message = await this.cache.load(revision);
    if (message === undefined) return false;
    const since = recipients.outdatedBy(message, isRedelivery);
    if (since === undefined) return true;
    const owner = String(message.organisationId);
    const current = await this.rendered.run(owner, () => rerenderer.current(message, since));
    if (current !== undefined) this.cache.replace(revision, current);
    // The subscriptions that are followed are behind the log, or the log that was read is behind them.
    else await this.parts.clock.pause(BEHIND_MS);
    return true;
  }

  /** The message if it is in memory as it is to be sent. */
  private peek(revision: number, isRedelivery: boolean): Message | undefined {
    const message = this.cache.get(revision);
    const since = message && this.parts.recipients.outdatedBy(message, isRedelivery);
    return since === undefined ? message : undefined;
  }

  /** A message was deleted before it could be sent: that is recorded as far as it is known. */
  private forget({ id, partition, lane, subscriptionId }: ServedReceiver, revision: number): void {
    this.parts.report(
      `a message to the receiver ${id} was not sent: it is older than messages are kept, or another program has ` +
        `written it (revision ${revision} of matched)`,
    );
    const owned = this.partitions.get(partition);
    owned?.state.forget(id, revision, { at: this.parts.clock.now().toISOString(), subscriptionId });
    if (owned !== undefined) this.deadLetters.record(owned).catch(this.parts.report);
    lane.settled(revision);
  }

  private schedulerParts(): SchedulerParts {
    const { recipients } = this.parts;
    return {
      peek: this.peek.bind(this),
      load: (...asked) => {
        this.load(...asked).catch(this.parts.report);
      },
      permission: recipients.permission.bind(recipients),
      ratesFor: recipients.ratesFor.bind(recipients),
      msUntil: (time) => time - this.parts.clock.wall(),
      isOpen: (number) => {
        const isKnown = this.open.get(number);
        if (isKnown !== undefined) return isKnown;
        const partition = this.partitions.get(number);
        const isOpen = partition?.isOpen === true && partition.lease.leftMs >= this.longestMs;
        this.open.set(number, isOpen);
        return isOpen;
      },
    };
  }
}

/** `message`: absent if it was not sent. */
function count({ outcome, at, ms = 0, isManual }: Outcome, message?: Message): void {
  DELIVERY_OUTCOMES.add(1, { outcome });
  if (outcome !== 'delivered' || isManual === true || message === undefined) return;
  if (message.made !== undefined || message.isTest === true) return;
  // What was imported, or the clock of another machine, may be ahead.
  DELIVERY_SECONDS.observe(Math.max(0, Date.parse(at) + ms - Date.parse(message.at)) / 1000, {});
}

/** Whether a message is still to be sent by its schedule. */
function isWanted({ queue, retries }: ReceiverState, revision: number): boolean {
  return queue.has(revision) || retries.has(revision);
}

/**
 * Drops receivers that no subscription has any more, once nothing is left to send to them. Whoever makes one again
 * starts over (`docs/decisions.md#n8`). Only before a snapshot: so whoever continues from it has dropped them too.
 */
function dropGone({ receivers }: PartitionState, scheduler: Scheduler, recipients: Recipients): void {
  for (const [id, state] of receivers) {
    const isOpen = !state.isDone || (scheduler.served(id)?.inFlight ?? 0) > 0;
    if (isOpen || recipients.mayHave(id)) continue;
    receivers.delete(id);
    scheduler.leave(id);
  }
}
