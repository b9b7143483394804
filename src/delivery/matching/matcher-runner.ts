import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';
import { Leader, Troubles } from '../../runtime/leader';
import { LeaseHolder, MATCHER_LEASE } from '../../runtime/lease-holder';
import { type IsGone, type Leases } from '../../kernel/leases';
import { Parking, parkedStream, type Retried, TooManyEventsParked } from '../../runtime/parked-events';
import { WaitablePosition } from '../../runtime/waitable-position';
import { type Topic } from '../../domain/subscriptions/topic';
import { continuationOf, DailyMark } from './cursor';
import { MatchedWriter } from './matched-writer';
import { changesState, type Due, Matcher, MATCHER, STATE_STREAMS } from './matcher';
import { eventAt } from '../../kernel/decider';

export interface MatcherParts {
  /** The domain log. */
  readonly log: EventLog;
  readonly deliveries: EventLog;
  readonly leases: Leases;
  readonly topics: readonly Topic[];
}

export interface MatcherOptions {
  readonly clock: Clock;
  readonly owner: string;
  readonly isGone?: IsGone;
  /** The running code: what other code could not use is tried again. */
  readonly code?: string;
  readonly report?: (failure: unknown) => void;
}

interface Matching {
  readonly matcher: Matcher;
  readonly writer: MatchedWriter;
  readonly parking: Parking;
  /** Ids of events that could not be used in this lead. */
  readonly unused: Set<string>;
}

/** Interval between looks at the lease (ms). */
const LOOK_MS = 1_000;
const BACKOFF_MS = { first: 50, longest: 5_000 } as const;
/**
 * When nothing is due, the cursor is appended at the start, and after so many events, or so much time (ms): the next
 * start reads no more. Events of other streams do not count, but EventStoreDB reads them too.
 */
const IDLE = { events: 10_000, ms: 60 * 1000 } as const;

/** The delivery log knows positions that the log does not have: one of them is from a backup. */
class MatchedBeyondLog extends Error {
  override readonly name = 'MatchedBeyondLog';
  constructor() {
    super(
      'the delivery log is ahead of the event log: nothing is matched; restore both from the same backup, or remove ' +
        'the delivery log, and messages of the last day are sent again',
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

/**
 * Matches the events of the log with subscriptions, in the process that holds the lease; the others stand by. What is
 * due and the cursor are one append, so nothing is lost or matched twice, however it is interrupted. Two processes that
 * believe to have the lease are harmless: the append of one of them conflicts.
 */
export class MatcherRunner {
  private readonly leader: Leader;
  private readonly troubles: Troubles;
  private readonly matched = new WaitablePosition();
  private readonly report: (failure: unknown) => void;
  private readonly clock: Clock;
  private readonly code: string;

  constructor(
    private readonly parts: MatcherParts,
    { clock, owner, isGone, code = '', report = () => undefined }: MatcherOptions,
  ) {
    [this.clock, this.report, this.code] = [clock, report, code];
    const { name, ms } = MATCHER_LEASE;
    this.troubles = new Troubles(report);
    this.leader = new Leader(new LeaseHolder(clock, parts.leases, name, owner, ms, isGone), {
      lead: () => this.lead(),
      standBy: () => this.troubles.clear(MATCHER),
      failed: (error) => this.failed(error),
      lookMs: LOOK_MS,
      backoffMs: BACKOFF_MS,
    });
  }

  start(): void {
    this.leader.start().catch(this.report);
  }

  /** Stops after the append under way. */
  async stop(): Promise<void> {
    await this.leader.stop().catch(this.report);
  }

  trouble(): string | undefined {
    return this.troubles.reason;
  }

  /** Waits until this process has matched all events up to `position`: true, or false if `signal` aborts first. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    return await this.matched.reached(position, signal);
  }

  /** Matches until it is stopped or the lease is lost. */
  private async lead(): Promise<void> {
    const { log, deliveries, topics } = this.parts;
    const found = await continuationOf(deliveries, log);
    const writer = new MatchedWriter(deliveries, found);
    const matcher = new Matcher(topics, this.report);
    const parking = await new Parking(this.clock, log, MATCHER, this.code).refresh();
    const matching = { matcher, writer, parking, unused: new Set<string>() };
    await this.catchUp(matching, found.cursor.upTo);
    await this.retryOthers(matching);
    await this.leader.leadWith((signal) => this.follow(matching, signal));
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
      await this.leader.requireLease();
      if (position >= upTo) return;
    }
  }

  private async follow(matching: Matching, signal: AbortSignal): Promise<void> {
    const { matcher, writer } = matching;
    const mark = new DailyMark(this.clock, this.parts.log);
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
      const isIdle = read >= IDLE.events || this.clock.wall() - appendedAt >= IDLE.ms;
      await writer.flush(position, isIdle);
      if (writer.cursor !== before && !isStart) marked = writer.cursor.upTo;
      if (writer.cursor !== before || isStart) [read, appendedAt] = [0, this.clock.wall()];
      if (caughtUp) await mark.setIfDue(this.clock.wall(), marked);
      this.matched.advance(position);
      this.troubles.clear(MATCHER);
      this.leader.progressed();
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
    const event = await eventAt(this.parts.log, stream, revision);
    return event?.id === id ? event : undefined;
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
      await this.leader.requireLease();
      // Do not list what another process has matched.
      if (!parking.isDisregarded(event.id)) await writer.requireLast();
      const isNew = await parking.park(event, { error, at: this.clock.now().toISOString(), after });
      if (isNew) this.report(new EventNotUsed(event, error));
      return undefined;
    }
  }

  /** Retries what other code could not use. */
  private async retryOthers({ parking, unused }: Matching): Promise<void> {
    const at = this.clock.now().toISOString();
    await parking.retryOthers(at, unused, () => this.leader.requireLease());
  }

  /** False: the state is read again at once. */
  private failed(error: unknown): boolean {
    if (error instanceof StateOutdated) return false;
    // Another process has appended.
    if (error instanceof RevisionConflict) return true;
    // A stack would explain nothing.
    const isExpected = error instanceof MatchedBeyondLog || error instanceof TooManyEventsParked;
    if (isExpected) this.troubles.add(MATCHER, error.message, error.message);
    else this.troubles.add(MATCHER, error);
    return true;
  }
}
