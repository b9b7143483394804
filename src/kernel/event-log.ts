import { type NewEvent, type Position, type RecordedEvent } from './event';

/** What one append may hold; a caller with more cuts it into several. */
export const APPEND_LIMITS = { events: 500, bytes: 1024 * 1024 - 16 * 1024 } as const;

/** Where an append ended. */
export interface Appended {
  /** Revision of the last event now in the stream. */
  readonly revision: number;
  /** Position of the last event appended (of an empty append: the position given by `head`). */
  readonly position: Position;
}

/** Some events in log order, and how far the log has been read by them. */
export interface EventBatch {
  /** May be empty: everything up to `position` was filtered out, or there was nothing new. */
  readonly events: readonly RecordedEvent[];
  /** Everything up to here has been seen: where to resume, whatever was filtered out. */
  readonly position: Position;
  /** Nothing was left to read when this batch was made: then `position` is that of `head()`. */
  readonly caughtUp: boolean;
}

export interface ReadAllOptions {
  /** Read what comes after this position; `START` for everything. */
  readonly after: Position;
  /** Only streams whose name begins with one of these, character by character; absent for all. */
  readonly prefixes?: readonly string[];
  /** Most events in a batch (default 1,000); a batch may be cut earlier to bound its bytes. */
  readonly batchSize?: number;
}

export interface ReadBackwardsOptions {
  /** Read what comes before this position; absent for everything, from the last event back. */
  readonly before?: Position;
  /** Most events in a batch (default 1,000). */
  readonly batchSize?: number;
}

export interface SubscribeOptions extends ReadAllOptions {
  /** Ends the subscription: the iteration finishes without an error. */
  readonly signal?: AbortSignal;
}

export interface ReadStreamOptions {
  /** First revision to read: by default 0, backwards the last one. */
  readonly from?: number;
  readonly backwards?: boolean;
  /** Most events to read in all, 0 for none. */
  readonly limit?: number;
  readonly batchSize?: number;
}

/** The stream is not at the revision the append expected; nothing was appended. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
  constructor(
    readonly stream: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`${stream} is at revision ${actual}, not ${expected}`);
  }
}

/** The append is over `APPEND_LIMITS`, or an event violates `NewEvent`; nothing was appended. */
export class UnacceptableAppend extends Error {
  override readonly name = 'UnacceptableAppend';
}

/**
 * An engine could not answer: full or read-only disk, server gone, time-out. The outcome of an append is
 * unknown: repeating it with the same ids and the same expected revision is safe.
 */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}

/** Events are missing from the log: repeating does not help, a backup does. Handled like any other `EngineUnavailable`. */
export class DamagedLog extends EngineUnavailable {
  /** `what` is missing, and where. */
  constructor(what: string) {
    super(`the event log is damaged: ${what}; restore it from a backup`);
  }
}

/**
 * The log: streams of events in one total order. The only source of truth.
 *
 * Every engine passes `test/contracts/event-log.ts`. All methods may raise `EngineUnavailable`. An engine that keeps the
 * events itself raises `DamagedLog` rather than leave out events that are missing.
 */
export abstract class EventLog {
  /**
   * Appends all of `events` to the end of one stream, durably, or nothing.
   *
   * `expected` is the revision of the stream's last event, `NO_STREAM` if it has none. When the stream has moved
   * on and holds exactly these event ids right after `expected`, the append was already made: it succeeds again,
   * writing nothing, however long ago that was. Otherwise `RevisionConflict`. An empty append checks only.
   *
   * Raises `UnacceptableAppend` for what `APPEND_LIMITS` or `NewEvent` do not allow, for a stream whose name is empty or
   * begins with `$`, and for texts that would not come back to the letter (half a character, U+0000).
   */
  abstract append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended>;

  /**
   * The events of one stream in order (or backwards), in batches. A missing stream is an empty one, and so is one that there
   * cannot be.
   */
  abstract readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<readonly RecordedEvent[]>;

  /** Everything after a position up to the end the log has now; the last batch has `caughtUp`. */
  abstract readAll(options: ReadAllOptions): AsyncIterable<EventBatch>;

  /** Everything before a position, the last one first, up to the first event of the log. */
  abstract readAllBackwards(options?: ReadBackwardsOptions): AsyncIterable<readonly RecordedEvent[]>;

  /**
   * Everything after a position, then what is appended later, for ever: each event once, in order, none left
   * out. At least one batch comes, so that a subscriber learns when it has caught up. The consumer sets the pace.
   */
  abstract subscribe(options: SubscribeOptions): AsyncIterable<EventBatch>;

  /** Position of the last event, `START` in an empty log. */
  abstract head(): Promise<Position>;

  /**
   * Reads and appends that are under way, or are begun later, raise `EngineUnavailable`: what was cut short does not look
   * as if it had come to its end. Subscriptions end.
   */
  abstract close(): Promise<void>;
}
