import { type Decider, execute, load } from './decider';
import { type RecordedEvent } from './event';
import { type EventLog } from './event-log';
import { reasonOf } from './unavailable';
import { without } from './without';

/** An event that a consumer cannot use: it is as if it had not happened, until a retry succeeds. */
export interface ParkedEvent {
  /** Its id. */
  readonly event: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly error: string;
  /** The code that failed. */
  readonly code: string;
  /** When it was parked, an ISO 8601 instant. */
  readonly at: string;
}

/**
 * What became of the events that a consumer cannot use, in the stream `parked-<consumer>` of the domain log: whoever consumes
 * next, over whatever read store, knows of them.
 *
 * The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant.
 */
type ParkingEvent =
  | { readonly type: 'EventParked'; readonly data: ParkedEvent }
  /** It is parked no longer: the consumer uses it when it reads this. */
  | { readonly type: 'EventRetried'; readonly data: Retried }
  /** An operator gave it up. */
  | {
      readonly type: 'ParkedEventSkipped';
      readonly data: {
        readonly event: string;
        readonly reason: string;
        readonly by: string;
        readonly at: string;
      };
    };

export type Retried = Pick<ParkedEvent, 'event' | 'stream' | 'revision' | 'at'>;

type ParkingCommand =
  | ({ readonly do: 'park' } & ParkedEvent)
  /** `other`: only if other code has failed. */
  | { readonly do: 'retry'; readonly event: string; readonly at: string; readonly other?: string }
  | {
      readonly do: 'skip';
      readonly event: string;
      readonly reason: string;
      readonly by: string;
      readonly at: string;
    };

export interface Parking {
  /** By id, in the order in which they were parked. */
  readonly parked: ReadonlyMap<string, ParkedEvent>;
  readonly skipped: ReadonlySet<string>;
  /** All that were ever parked: a consumer that reads them again uses them where they were retried, if they were. */
  readonly ever: ReadonlySet<string>;
}

const PARKED = 'parked';

/** Characters of an error that are stored. */
const MAX_ERROR = 2_000;

/** With more than these the cause is a bug, or another program, rather than single events: the consumer stops. */
export const MAX_PARKED_EVENTS = 1_000;

export class TooManyEventsParked extends Error {
  override readonly name = 'TooManyEventsParked';
  constructor(consumer: string, last: string) {
    super(
      `more than ${MAX_PARKED_EVENTS} events cannot be used and are parked (affilog parked list ${consumer}); the last error: ${last}`,
    );
  }
}

const decider: Decider<ParkingCommand, Parking, ParkingEvent> = {
  category: PARKED,
  initial: { parked: new Map(), skipped: new Set(), ever: new Set() },
  decide(command, { parked, skipped }) {
    const known = parked.get(command.event);
    if (command.do === 'park') {
      const data = without(command, 'do');
      const isSame = known !== undefined && known.code === data.code;
      return isSame || skipped.has(data.event) ? [] : [{ type: 'EventParked', data }];
    }
    if (known === undefined) return [];
    const { event, at } = command;
    if (command.do === 'skip') {
      const { reason, by } = command;
      return [{ type: 'ParkedEventSkipped', data: { event, reason, by, at } }];
    }
    if (known.code === command.other) return [];
    const { stream, revision } = known;
    return [{ type: 'EventRetried', data: { event, stream, revision, at } }];
  },
  evolve({ parked, skipped, ever }, { type, data }) {
    const others = new Map(parked);
    others.delete(data.event);
    switch (type) {
      case 'EventParked':
        return { parked: others.set(data.event, data), skipped, ever: new Set([...ever, data.event]) };
      case 'EventRetried':
        return { parked: others, skipped, ever };
      case 'ParkedEventSkipped':
        return { parked: others, skipped: new Set([...skipped, data.event]), ever };
    }
  },
};

/** The stream of a consumer. */
export function parkedStream(consumer: string): string {
  return `${PARKED}-${consumer}`;
}

/** What became of the events that a consumer could not use. */
export async function parkingOf(log: EventLog, consumer: string): Promise<Parking> {
  return (await load(log, decider, consumer)).state;
}

/** The events that a consumer cannot use, in the order in which they were parked. */
export async function parkedEvents(log: EventLog, consumer: string): Promise<readonly ParkedEvent[]> {
  return [...(await parkingOf(log, consumer)).parked.values()];
}

/**
 * Parks an event, unless it is parked by this code already, or was given up: true if it was not. Raises `TooManyEventsParked`,
 * `EngineUnavailable`.
 */
export async function parkEvent(
  log: EventLog,
  consumer: string,
  { id: event, type, stream, revision }: RecordedEvent,
  { error, code, at }: { readonly error: unknown; readonly code: string; readonly at: string },
): Promise<boolean> {
  const known = await load(log, decider, consumer);
  const { parked } = known.state;
  if (parked.size >= MAX_PARKED_EVENTS && !parked.has(event))
    throw new TooManyEventsParked(consumer, reasonOf(error));
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const entry: ParkedEvent = { event, type, stream, revision, error: text.slice(0, MAX_ERROR), code, at };
  return (await execute(log, decider, consumer, { do: 'park', ...entry }, known)).position !== undefined;
}

/** Has a parked event used again; with `other` only if other code has failed. Raises `EngineUnavailable`. */
export async function retryEvent(
  log: EventLog,
  consumer: string,
  retried: { readonly event: string; readonly at: string; readonly other?: string },
): Promise<void> {
  await execute(log, decider, consumer, { do: 'retry', ...retried });
}

/** Gives a parked event up for good. Raises `EngineUnavailable`. */
export async function skipEvent(
  log: EventLog,
  consumer: string,
  skipped: { readonly event: string; readonly reason: string; readonly by: string; readonly at: string },
): Promise<void> {
  await execute(log, decider, consumer, { do: 'skip', ...skipped });
}
