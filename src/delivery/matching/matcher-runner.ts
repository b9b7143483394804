import { NamedError } from '../../kernel/fault';
import { MATCHED, type MatcherCursor } from '../../domain/deliveries/delivery-events';
import { type Topic } from '../../domain/subscriptions/topic';
import { appendIdempotently, eventAt, lastEvent, toNewEvent } from '../../kernel/decider';
import { namedUuid, type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type IsGone, type Leases } from '../../kernel/leases';
import { type Clock } from '../../runtime/clock';
import { Leader, Troubles } from '../../runtime/leader';
import { LeaseHolder, MATCHER_LEASE } from '../../runtime/lease-holder';
import { MATCHED_MESSAGES } from '../../runtime/metrics';
import { metaWith, spansAfter } from '../../runtime/tracing';
import {
  parkedStream,
  Parking,
  type ParkedRead,
  type Retried,
  TooManyEventsParked,
} from '../../runtime/parked-events';
import { WaitablePosition } from '../../runtime/concurrency';
import { type Continuation, continuationOf, DailyMark, type MatchedRange, rangeOf } from './cursor';
import { changesState, type Due, Matcher, MATCHER } from './matcher';

interface MatcherParts {
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
class MatchedBeyondLog extends NamedError {
  constructor() {
    super(
      'the delivery log is ahead of the event log: nothing is matched; restore both from the same backup, or remove ' +
        'the delivery log, and messages of the last day are sent again',
    );
  }
}

/** An event cannot be used: the others are matched. */
class EventNotUsed extends NamedError {
  constructor({ type, stream, revision }: RecordedEvent, cause: unknown) {
    super(
      `${type} (${stream}@${revision}) cannot be matched, and is parked: affilog parked list ${MATCHER}`,
      { cause },
    );
  }
}

/** What is known of subscriptions and rates has to be read again: events that could not be used are tried again. */
class StateOutdated extends NamedError {}

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
    const prefixes = matching.matcher.stateStreams;
    for await (const { events, position } of log.readAll({ after: START, prefixes })) {
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
    /** The cursor of the last append, except one that only records how far a start has read. */
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
    else if (!parking.wasParked(id)) await this.addDue(matching, position, event);
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
      await this.addDue(matching, position, retried, made);
      return;
    }
    await writer.add(position, id, []);
    // Otherwise the state has it.
    if (retried === undefined || !unused.has(retried.id)) return;
    // With this event: matching continues behind it, with the state in which all that are retried count.
    await writer.flush(position, true);
    throw new StateOutdated();
  }

  /** Adds what is due because of an event that is read, or retried, at a position; `made` is not made again. */
  private async addDue(
    matching: Matching,
    position: Position,
    event: RecordedEvent,
    made: ReadonlySet<string> = NOTHING,
  ): Promise<void> {
    const [span] = spansAfter([event], { name: 'match', kind: 'consumer' });
    const due = await this.due(matching, event);
    const added = await matching.writer.add(position, event.id, due, made, span?.traceparent);
    if (added > 0) span?.end({ 'affilog.due': added });
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

/** The namespace of ids of events in `matched`: what is matched again has the same id. */
const NAMESPACE = Buffer.from('0b5f6d0c7a3e4c53a1d79be2c4f80d16', 'hex');

/** Room for the cursor. */
const MAX_EVENTS = APPEND_LIMITS.events - 1;
const MAX_BYTES = APPEND_LIMITS.bytes - 512;

const NOTHING: ReadonlySet<string> = new Set();

/** The cursor does not name the event that was appended in part: it is the next one. */
const NEXT: Position = '9'.repeat(START.length);

/**
 * Appends what is due, and after it the cursor: one append, or several if it is too much for one. A restart between
 * them skips what has been appended by its ids, since other code may make other messages of the event, or in another
 * order.
 */
class MatchedWriter {
  private pending: NewEvent[] = [];
  private bytes = 0;
  private revision: number;
  private last: MatcherCursor;
  private complete: number;
  private readonly made: ReadonlySet<string>;
  /** Everything up to here has been added. */
  private added: Position;
  /**
   * The position of the event that has been appended in part, until it has been added, and the number of these
   * messages.
   */
  private begun: Position;
  private messages: number;
  private range: MatchedRange | undefined;

  constructor(
    private readonly deliveries: EventLog,
    { cursor, revision, complete, made }: Continuation,
  ) {
    [this.last, this.revision, this.complete, this.made] = [cursor, revision, complete, made];
    [this.added, this.messages] = [cursor.upTo, cursor.messages];
    this.begun = cursor.messages > 0 ? (cursor.event ?? NEXT) : cursor.upTo;
  }

  /** Whether something is to be appended, beside a cursor. */
  get hasPending(): boolean {
    return this.pending.length > 0;
  }

  /** The cursor of the last append. */
  get cursor(): MatcherCursor {
    return this.last;
  }

  /** Whatever any process appends because of the event that is read next comes after this revision. */
  get after(): number {
    return this.complete;
  }

  /**
   * Adds what is due because of `event`, which is read, or retried, at `position`. Skips what has been appended before
   * a restart, and what is `made`; returns how much is left. `trace`: the span in which it is due. Raises
   * `RevisionConflict` if another process has appended.
   */
  async add(
    position: Position,
    event: string,
    due: Iterable<Due>,
    made: ReadonlySet<string> = NOTHING,
    trace?: string,
  ): Promise<number> {
    if (this.begun === NEXT) this.begun = position;
    let [at, added] = [-1, 0];
    for (const one of due) {
      at += 1;
      const id = idOf(one, event);
      if (this.made.has(id) || made.has(id)) continue;
      const untraced = toNewEvent(one, id);
      const packed = trace === undefined ? untraced : { ...untraced, meta: metaWith(trace) };
      const size = packed.type.length + Buffer.byteLength(packed.data) + packed.meta.length;
      if (this.pending.length === MAX_EVENTS || (this.pending.length > 0 && this.bytes + size > MAX_BYTES)) {
        if (at > 0) this.begins(position, at);
        await this.append(this.added);
      }
      this.pending.push(packed);
      this.bytes += size;
      added += 1;
    }
    this.added = position;
    return added;
  }

  /**
   * Appends what has been added, if anything, and the cursor; with `always` at least the cursor. Nothing while the
   * event that has been appended in part is the next one, whose position is not known: the last cursor describes that
   * part.
   */
  async flush(upTo: Position, always: boolean): Promise<void> {
    if (this.begun === NEXT) return;
    this.added = upTo;
    const isNew = upTo > this.last.upTo;
    if (this.pending.length > 0 || (always && isNew)) await this.append(upTo);
  }

  /**
   * Ids of what was appended, or is to be, because of an event where it was parked: a part of it before that, or all by
   * a process that did not know that another one parked it.
   */
  async madeAt(readings: readonly ParkedRead[]): Promise<ReadonlySet<string>> {
    const made = new Set(this.pending.map(({ id }) => id));
    for (const reading of readings) for (const id of (await this.rangeWith(reading)).ids) made.add(id);
    return made;
  }

  /** Raises `RevisionConflict` if another process has appended. */
  async requireLast(): Promise<void> {
    const last = await lastEvent(this.deliveries, MATCHED);
    if (last !== undefined && last.revision !== this.revision)
      throw new RevisionConflict(MATCHED, this.revision, last.revision);
  }

  /** Events that were parked one after the other have a range in common. */
  private async rangeWith({ after, position }: ParkedRead): Promise<MatchedRange> {
    const { range } = this;
    if (range !== undefined && range.after <= after && position <= range.upTo) return range;
    return (this.range = await rangeOf(this.deliveries, after, position));
  }

  private begins(position: Position, messages: number): void {
    // Newer code may read others before the event that older code has appended in part.
    if (position > this.begun) this.begun = position;
    this.messages = messages;
  }

  private async append(upTo: Position): Promise<void> {
    const { begun: event, messages } = this;
    const cursor: MatcherCursor =
      event > upTo ? { upTo, messages, event, inTurn: true } : { upTo, messages: 0 };
    const last = toNewEvent({ type: 'Matched', data: cursor }, uuid(`${cursor.upTo} ${cursor.messages}`));
    const all = [...this.pending, last];
    const appended = await appendIdempotently(this.deliveries, MATCHED, this.revision, all);
    MATCHED_MESSAGES.add(this.pending.filter(({ type }) => type === 'MessageDue').length, {});
    [this.revision, this.last, this.pending, this.bytes] = [appended.revision, cursor, [], 0];
    if (cursor.messages === 0) this.complete = appended.revision;
  }
}

function idOf(due: Due, event: string): string {
  if (due.type === 'MessageDue') return uuid(due.data.id);
  return uuid(due.type === 'RedeliveriesWithdrawn' ? `${event} ${due.data.receiver}` : `${event} redelivery`);
}

function uuid(name: string): string {
  return namedUuid(NAMESPACE, name);
}
