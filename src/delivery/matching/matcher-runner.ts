import { setTimeout as pause } from 'node:timers/promises';
import { isAbort } from '../../runtime/abort';
import { Backoff } from '../../runtime/backoff';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { LeaseHolder, MATCHER_LEASE } from '../../runtime/lease-holder';
import { type IsGone, type Leases } from '../../kernel/leases';
import { Parking, parkedStream, type Retried, TooManyEventsParked } from '../../runtime/parked-events';
import { reasonOf } from '../../runtime/unavailable';
import { WaitablePosition } from '../../runtime/waitable-position';
import { type Topic } from '../../domain/subscriptions/topic';
import { continuationOf, DailyMark } from './cursor';
import { MatchedWriter } from './matched-writer';
import { changesState, type Due, Matcher, MATCHER, STATE_STREAMS } from './matcher';

export interface MatcherParts {
  /** The domain log. */
  readonly log: EventLog;
  readonly deliveries: EventLog;
  readonly leases: Leases;
  readonly topics: readonly Topic[];
}

export interface MatcherOptions {
  /** A name that no other process uses. */
  readonly owner: string;
  readonly isGone?: IsGone;
  /** The running code: what other code could not use is tried again. */
  readonly code?: string;
  /** Receives failures after which the matcher continues. */
  readonly report?: (failure: unknown) => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

/** The matcher that leads. */
interface Matching {
  readonly matcher: Matcher;
  readonly writer: MatchedWriter;
  readonly parking: Parking;
  /** Ids of events that could not be used in this lead. */
  readonly unused: Set<string>;
}

/** Interval for checking the lease (ms). */
const WATCH_MS = 1_000;
const BACKOFF_MS = { first: 50, longest: 5_000 } as const;
/**
 * When nothing is due, the cursor is appended at the start, and after so many events, or so much time (ms): the next start reads no
 * more. Events of other streams do not count, but EventStoreDB reads them too.
 */
const IDLE = { events: 10_000, ms: 60 * 1000 } as const;

/** The delivery log knows positions that the log does not have: one of them is from a backup. */
class MatchedBeyondLog extends Error {
  override readonly name = 'MatchedBeyondLog';
  constructor() {
    super(
      'the delivery log is ahead of the event log: nothing is matched; restore both from the same backup, or remove the delivery log, and messages of the last day are sent again',
    );
  }
}

/** An event cannot be used: the others are matched. */
class EventNotUsed extends Error {
  override readonly name = 'EventNotUsed';
  constructor({ type, stream, revision }: RecordedEvent, cause: unknown) {
    super(
      `${type} (${stream}@${revision}) cannot be matched, and is parked: affilog parked list ${MATCHER}`,
      { cause },
    );
  }
}

/** What is known of subscriptions and rates has to be read again: events that could not be used are tried again. */
class StateOutdated extends Error {
  override readonly name = 'StateOutdated';
}

/** Another process may lead by now. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * Matches the events of the log with subscriptions, in the process that holds the lease; the others stand by. What is due and the
 * cursor are one append, so nothing is lost or matched twice, however it is interrupted. Two processes that believe to have the
 * lease are harmless: the append of one of them conflicts.
 */
export class MatcherRunner {
  private readonly stopping = new AbortController();
  private readonly lease: LeaseHolder;
  private readonly matched = new WaitablePosition();
  private readonly report: (failure: unknown) => void;
  private readonly now: () => number;
  private readonly code: string;
  private running: Promise<void> | undefined;
  private failure: string | undefined;

  constructor(
    private readonly parts: MatcherParts,
    { owner, isGone, code = '', report = () => undefined, now = Date.now }: MatcherOptions,
  ) {
    [this.report, this.now, this.code] = [report, now, code];
    const { name, ms } = MATCHER_LEASE;
    this.lease = new LeaseHolder(parts.leases, name, owner, ms, now, isGone);
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Stops after the append under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.lease.release().catch(this.report);
  }

  /** Why there is no progress; undefined while there is. */
  trouble(): string | undefined {
    return this.failure;
  }

  /** Waits until this process has matched all events up to `position`: true, or false if `signal` aborts first. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    return await this.matched.reached(position, signal);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new Backoff(BACKOFF_MS);
    while (!signal.aborted) {
      try {
        if (await this.lease.acquire()) await this.lease.renewDuring(() => this.lead(() => backoff.reset()));
        else await this.standBy();
      } catch (error) {
        if (isAbort(error) || error instanceof StateOutdated || error instanceof LeaseLost) continue;
        // Another process has appended.
        if (!(error instanceof RevisionConflict)) this.fail(error);
        await backoff.wait(signal);
      }
    }
  }

  /** Matches until it is stopped or the lease is lost. `onProgress` is called when something has been matched. */
  private async lead(onProgress: () => void): Promise<void> {
    const { log, deliveries, topics } = this.parts;
    const found = await continuationOf(deliveries, log);
    const writer = new MatchedWriter(deliveries, found);
    const matcher = new Matcher(topics, this.report);
    const parking = await new Parking(log, MATCHER, this.code).refresh();
    const matching = { matcher, writer, parking, unused: new Set<string>() };
    await this.catchUp(matching, found.cursor.upTo);
    await this.retryOthers(matching);
    const ending = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, ending.signal]);
    const tasks = [this.follow(matching, signal, onProgress), this.watch(signal)];
    const results = await Promise.allSettled(tasks.map((task) => task.finally(() => ending.abort())));
    for (const result of results)
      if (result.status === 'rejected' && !isAbort(result.reason)) throw result.reason;
  }

  /** Reads the state as of the cursor. */
  private async catchUp(matching: Matching, upTo: Position): Promise<void> {
    const { log } = this.parts;
    if ((await log.head()) < upTo) throw new MatchedBeyondLog();
    for await (const { events, position } of log.readAll({ after: START, prefixes: STATE_STREAMS })) {
      for (const event of events) {
        if (event.position > upTo) break;
        await this.applied(matching, event);
      }
      await this.requireLead();
      if (position >= upTo) return;
    }
  }

  private async follow(matching: Matching, signal: AbortSignal, onProgress: () => void): Promise<void> {
    const { matcher, writer } = matching;
    const mark = new DailyMark(this.parts.log);
    let [read, appendedAt] = [0, -Infinity];
    /** The cursor of the last append, except one that only says how far a start has read. */
    let marked = writer.cursor.upTo;
    const prefixes = [...matcher.streams, parkedStream(MATCHER)];
    const options = { after: writer.cursor.upTo, prefixes, signal };
    for await (const { events, position, caughtUp } of this.parts.log.subscribe(options)) {
      const before = writer.cursor;
      for (const event of events) await this.match(matching, event);
      read += events.length;
      const isStart = appendedAt === -Infinity && !writer.hasPending && writer.cursor === before;
      const isIdle = read >= IDLE.events || this.now() - appendedAt >= IDLE.ms;
      await writer.flush(position, isIdle);
      if (writer.cursor !== before && !isStart) marked = writer.cursor.upTo;
      if (writer.cursor !== before || isStart) [read, appendedAt] = [0, this.now()];
      if (caughtUp) await mark.setIfDue(this.now(), marked);
      this.matched.advance(position);
      this.failure = undefined;
      onProgress();
    }
    if (!signal.aborted) throw new EngineUnavailable('the log has ended the subscription');
  }

  /** Adds what is due because of an event; nothing if it cannot be used. */
  private async match(matching: Matching, event: RecordedEvent): Promise<void> {
    const { writer, parking } = matching;
    const { id, position, stream } = event;
    if (stream === parkedStream(MATCHER)) await this.matchRetried(matching, event);
    else if (!parking.wasParked(id)) await writer.add(position, id, await this.due(matching, event));
    else {
      // What is due because of it is made where it is retried.
      await this.applied(matching, event);
      await writer.add(position, id, []);
    }
  }

  /** Adds what is due because of an event that is retried by this one. */
  private async matchRetried(matching: Matching, event: RecordedEvent): Promise<void> {
    const { writer, parking, unused } = matching;
    const { id, position } = event;
    parking.follow(event);
    const retried = await this.retriedBy(parking, event);
    if (retried !== undefined && !changesState(retried)) {
      const made = await writer.madeAt(parking.readingsOf(retried));
      await writer.add(position, retried.id, await this.due(matching, retried), made);
      return;
    }
    await writer.add(position, id, []);
    // Otherwise the state has it.
    if (retried === undefined || !unused.has(retried.id)) return;
    // With this event: matching continues behind it, with the state in which all that are retried count.
    await writer.flush(position, true);
    throw new StateOutdated();
  }

  /** The event that is to be used from an event on. */
  private async retriedBy(
    parking: Parking,
    { stream: of, type, data, revision: at }: RecordedEvent,
  ): Promise<RecordedEvent | undefined> {
    if (of !== parkedStream(MATCHER) || type !== 'EventRetried') return undefined;
    const { event: id, stream, revision } = JSON.parse(data) as Retried;
    // It was parked again, so it has been tried.
    if (!parking.isLatest(id, at)) return undefined;
    for await (const [event] of this.parts.log.readStream(stream, { from: revision, limit: 1 }))
      return event?.id === id ? event : undefined;
    return undefined;
  }

  private async due(matching: Matching, event: RecordedEvent): Promise<Iterable<Due>> {
    const { matcher, writer } = matching;
    return (await this.usedOrParked(matching, event, () => matcher.match(event), writer.after)) ?? [];
  }

  /** Applies an event because of which nothing is due here. */
  private async applied(matching: Matching, event: RecordedEvent): Promise<void> {
    await this.usedOrParked(matching, event, () => matching.matcher.apply(event));
  }

  /** Undefined: the event cannot be used, and is parked before the cursor passes it. `after`: `ParkedEvent.after`. */
  private async usedOrParked<Result>(
    { writer, parking, unused }: Matching,
    event: RecordedEvent,
    use: () => Result,
    after?: number,
  ): Promise<Result | undefined> {
    try {
      return use();
    } catch (error) {
      unused.add(event.id);
      await this.requireLead();
      // Do not list what another process has matched.
      if (!parking.isDisregarded(event.id)) await writer.requireLast();
      const isNew = await parking.park(event, { error, at: new Date(this.now()).toISOString(), after });
      if (isNew) this.report(new EventNotUsed(event, error));
      return undefined;
    }
  }

  /** Retries what other code could not use. */
  private async retryOthers({ parking, unused }: Matching): Promise<void> {
    const at = new Date(this.now()).toISOString();
    await parking.retryOthers(at, unused, () => this.requireLead());
  }

  /** Raises what ends the lead if it is over. */
  private async requireLead(): Promise<void> {
    this.stopping.signal.throwIfAborted();
    if (!(await this.lease.acquire())) throw new LeaseLost();
  }

  /** Returns when the lease is lost. */
  private async watch(signal: AbortSignal): Promise<void> {
    while (await this.lease.acquire()) await pause(WATCH_MS, undefined, { signal });
  }

  private async standBy(): Promise<void> {
    this.failure = undefined;
    await pause(WATCH_MS, undefined, { signal: this.stopping.signal });
  }

  /** Reports a failure that is new. */
  private fail(error: unknown): void {
    const isExpected = error instanceof MatchedBeyondLog || error instanceof TooManyEventsParked;
    const reason = isExpected ? error.message : reasonOf(error);
    if (this.failure === reason) return;
    this.failure = reason;
    // A stack would explain nothing.
    this.report(isExpected ? reason : error);
  }
}
