import { beginningOf } from '../kernel/text';
import { NamedError } from '../kernel/fault';
import { appendIdempotently, type EventOf, toDomainEvent, toNewEvent } from '../kernel/decider';
import { NO_STREAM, type Position, type RecordedEvent } from '../kernel/event';
import { type EventLog, RevisionConflict } from '../kernel/event-log';
import { type Clock } from './clock';
import { reasonOf } from './unavailable';

/** An event that a consumer cannot use: it is as if it had not happened, until a retry succeeds. */
export interface ParkedEvent {
  readonly event: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly error: string;
  readonly code: string;
  /** When it was parked, an ISO 8601 instant. */
  readonly at: string;
  /**
   * A revision of the stream that the consumer appends to. If anything was appended because of the event nevertheless,
   * it comes after this one. Absent in older events, and if the consumer had passed the event already.
   */
  readonly after?: number | undefined;
}

/** Where a consumer read an event and parked it. */
export interface ParkedRead {
  /** The position of the event or of its retry. It may be a later one: that of the last retry of the same append. */
  readonly position: Position;
  /** `ParkedEvent.after`. */
  readonly after: number;
}

/**
 * What became of the events that a consumer cannot use, in the stream `parked-<consumer>` of the domain log: whoever
 * consumes next, over whatever read store, knows of them.
 *
 * The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant.
 */
type ParkingEvent =
  | { readonly type: 'EventParked'; readonly data: ParkedEvent }
  /** It is parked no longer: the consumer uses it when it reads this. */
  | { readonly type: 'EventRetried'; readonly data: Retried }
  /** An operator gave it up. */
  | EventOf<'ParkedEventSkipped', { event: string; reason: string; by: string }>;

export interface Retried extends Pick<ParkedEvent, 'event' | 'stream' | 'revision' | 'at'> {
  /** The code that retries it by itself; absent if an operator does. */
  readonly code?: string;
}

const PARKED = 'parked';
const TYPES: ReadonlySet<string> = new Set<ParkingEvent['type']>([
  'EventParked',
  'EventRetried',
  'ParkedEventSkipped',
]);

/** Characters of an error that are stored. */
const MAX_ERROR = 2_000;

/** With more than these the cause is a bug, or another program, rather than single events: the consumer stops. */
export const MAX_PARKED_EVENTS = 1_000;

export class TooManyEventsParked extends NamedError {
  constructor(consumer: string, last: string) {
    super(
      `more than ${MAX_PARKED_EVENTS} events cannot be used and are parked (affilog parked list ${consumer}); the ` +
        `last error: ${last}`,
    );
  }
}

/** How often code retries an event by itself: versions that lead in turn would retry it for ever. */
const MAX_OWN_RETRIES = 3;

/** Events that are retried by one append. */
const RETRIED_AT_ONCE = 100;

/** Each failed attempt means that another writer succeeded. */
const MAX_ATTEMPTS = 200;

/** What is known of an event that was ever parked. */
interface Known {
  /** The revision of the last event about it in the stream of the consumer. */
  revision: number;
  isSkipped: boolean;
  /** How often this code has retried it by itself. */
  ownRetries: number;
  /** The position of its latest retry. */
  retried: Position | undefined;
  /** Without a position: at that of the event. */
  readonly readings: { readonly position: Position | undefined; readonly after: number }[];
}

export function parkedStream(consumer: string): string {
  return `${PARKED}-${consumer}`;
}

/**
 * What became of the events that a consumer cannot use. It is kept in memory: each event of the stream is read once,
 * and what this object appends not at all. `code` names the running code, for a consumer that parks and retries.
 */
export class Parking {
  private readonly stream: string;
  private readonly entries = new Map<string, ParkedEvent>();
  private readonly known = new Map<string, Known>();
  /** The last event that was read, or appended. */
  private last = { revision: NO_STREAM, id: '' };

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly consumer: string,
    private readonly code = '',
  ) {
    this.stream = parkedStream(consumer);
  }

  /** By id, in the order in which they were parked. */
  get parked(): ReadonlyMap<string, ParkedEvent> {
    return this.entries;
  }

  /** Whether it was ever parked: a consumer that reads it again uses it where it was retried, if it was. */
  wasParked(event: string): boolean {
    return this.known.has(event);
  }

  /** Whether it counts as not having happened: it is parked, or was given up. */
  isDisregarded(event: string): boolean {
    return this.entries.has(event) || this.known.get(event)?.isSkipped === true;
  }

  /** The position of the latest retry of an event. */
  retriedAt(event: string): Position | undefined {
    return this.known.get(event)?.retried;
  }

  /** All readings of an event that ended in parking it, except those of older code. */
  readingsOf({ id, position: own }: RecordedEvent): readonly ParkedRead[] {
    const readings = this.known.get(id)?.readings ?? [];
    return readings.map(({ position = own, after }) => ({ position, after }));
  }

  /** Whether the event of the stream with this revision is the last one about an event. */
  isLatest(event: string, revision: number): boolean {
    return (this.known.get(event)?.revision ?? revision) <= revision;
  }

  /** Reads what was appended since; everything if the log is another one by now, restored from a backup. */
  async refresh(): Promise<this> {
    const { revision, id } = this.last;
    let isSame = revision === NO_STREAM;
    for await (const batch of this.log.readStream(this.stream, { from: Math.max(revision, 0) })) {
      isSame ||= batch[0]?.id === id;
      if (!isSame) break;
      for (const event of batch) this.follow(event);
    }
    if (isSame) return this;
    this.entries.clear();
    this.known.clear();
    this.last = { revision: NO_STREAM, id: '' };
    return await this.refresh();
  }

  /** Learns of an event that somebody has read from the log. */
  follow(event: RecordedEvent): void {
    const { stream, revision, id, position } = event;
    if (stream !== this.stream || revision !== this.last.revision + 1) return;
    this.fold(toDomainEvent(event) as ParkingEvent, revision, position);
    this.last = { revision, id };
  }

  /**
   * Parks an event. Does nothing if it is parked already, was given up, or was retried by another process since this
   * object last read the stream. Returns whether it was parked. Raises `TooManyEventsParked`, `EngineUnavailable`.
   */
  async park(
    { id: event, type, stream, revision }: RecordedEvent,
    { error, ...rest }: { readonly error: unknown } & Pick<ParkedEvent, 'at' | 'after'>,
  ): Promise<boolean> {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const reason = { error: beginningOf(text, MAX_ERROR), code: this.code, ...rest };
    const data: ParkedEvent = { event, type, stream, revision, ...reason };
    const latest = this.known.get(event)?.revision;
    const isFull = (): boolean => this.entries.size >= MAX_PARKED_EVENTS && !this.entries.has(event);
    if (isFull()) await this.refresh();
    return await this.append(() => {
      if (this.isDisregarded(event) || this.known.get(event)?.revision !== latest) return [];
      if (isFull()) throw new TooManyEventsParked(this.consumer, reasonOf(error));
      return [{ type: 'EventParked', data }];
    });
  }

  /** Has parked events used again. Raises `EngineUnavailable`. */
  async retry(events: readonly string[], at: string): Promise<void> {
    await this.retryAll(events, ({ event, stream, revision }) => ({ event, stream, revision, at }));
  }

  /**
   * Has events used again that other code could not use, except those that this code cannot use either, and those that
   * it has retried `MAX_OWN_RETRIES` times. `mayAppend` is called before each append, and raises what ends this. Raises
   * `EngineUnavailable`.
   */
  async retryOthers(
    at: string,
    unusable: ReadonlySet<string>,
    mayAppend: () => Promise<void>,
  ): Promise<void> {
    const { code } = this;
    const others = [...this.entries.keys()].filter((event) => !unusable.has(event));
    const retriedOf = (entry: ParkedEvent): Retried | undefined => {
      const { event, stream, revision } = entry;
      return this.isOfOtherCode(entry) ? { event, stream, revision, at, code } : undefined;
    };
    await this.retryAll(others, retriedOf, mayAppend);
  }

  /** Gives a parked event up for good. Raises `EngineUnavailable`. */
  async skip(
    event: string,
    reason: { readonly reason: string; readonly by: string; readonly at: string },
  ): Promise<void> {
    await this.append(() =>
      this.entries.has(event) ? [{ type: 'ParkedEventSkipped', data: { event, ...reason } }] : [],
    );
  }

  private async retryAll(
    events: readonly string[],
    retriedOf: (entry: ParkedEvent) => Retried | undefined,
    mayAppend: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    for (let at = 0; at < events.length; at += RETRIED_AT_ONCE) {
      await mayAppend();
      const some = events.slice(at, at + RETRIED_AT_ONCE);
      await this.append(() =>
        some.flatMap((event): readonly ParkingEvent[] => {
          const entry = this.entries.get(event);
          const data = entry && retriedOf(entry);
          return data === undefined ? [] : [{ type: 'EventRetried', data }];
        }),
      );
    }
  }

  private isOfOtherCode({ event, code }: ParkedEvent): boolean {
    return code !== this.code && (this.known.get(event)?.ownRetries ?? 0) < MAX_OWN_RETRIES;
  }

  /** Appends what is decided by what is known; true if that is anything. */
  private async append(decide: () => readonly ParkingEvent[]): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const events = decide();
      if (events.length === 0) return false;
      const appending = events.map((event) => toNewEvent(event, this.clock.uuid()));
      try {
        const first = this.last.revision + 1;
        const { revision, position } = await appendIdempotently(this.log, this.stream, first - 1, appending);
        events.forEach((event, at) => this.fold(event, first + at, position));
        this.last = { revision, id: appending.at(-1)?.id ?? '' };
        return true;
      } catch (error) {
        if (!(error instanceof RevisionConflict) || attempt === MAX_ATTEMPTS) throw error;
        await this.refresh();
      }
    }
  }

  /** What another program has written changes nothing. */
  private fold({ type, data }: ParkingEvent, revision: number, position: Position): void {
    const { event } = data;
    if (typeof event !== 'string' || !TYPES.has(type)) return;
    const nothing: Known = { revision, isSkipped: false, ownRetries: 0, retried: undefined, readings: [] };
    const known = this.known.get(event) ?? nothing;
    known.revision = revision;
    this.known.set(event, known);
    this.entries.delete(event);
    if (type === 'EventParked') {
      this.entries.set(event, data);
      if (isRevision(data.after)) known.readings.push({ position: known.retried, after: data.after });
    } else if (type === 'EventRetried') {
      known.retried = position;
      if (data.code === this.code) known.ownRetries += 1;
    } else known.isSkipped = true;
  }
}

function isRevision(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= NO_STREAM;
}

/** The events that a consumer cannot use, in the order in which they were parked. */
export async function parkedEvents(
  clock: Clock,
  log: EventLog,
  consumer: string,
): Promise<readonly ParkedEvent[]> {
  return [...(await new Parking(clock, log, consumer).refresh()).parked.values()];
}
