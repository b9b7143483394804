import { type NewEvent, type Position, type RecordedEvent } from './event';
import { Fault, NamedError } from './fault';

/** Limits of one append. Callers split larger ones. */
export const APPEND_LIMITS = { events: 500, bytes: 1024 * 1024 - 16 * 1024 } as const;

/** The result of an append. */
export interface Appended {
  /** Revision of the stream's last event. */
  readonly revision: number;
  /** Position of the last event appended; for an empty append, the `head` of the log. */
  readonly position: Position;
}

/** Events in log order, with the position to resume from. */
export interface EventBatch {
  /** Empty if every event up to `position` was filtered out, or if there was nothing new. */
  readonly events: readonly RecordedEvent[];
  /** Everything up to here has been read, including events that were filtered out. Resume after it. */
  readonly position: Position;
  /** The batch reaches the end of the log as of when it was read: `position` is then that of `head()`. */
  readonly caughtUp: boolean;
}

export interface ReadAllOptions {
  /** Read the events after this position; `START` for all. */
  readonly after: Position;
  /** Read only streams whose names start with one of these, case-sensitive. By default all streams. */
  readonly prefixes?: readonly string[];
  /** Maximum events per batch (default 1,000). Engines may return smaller batches to bound their bytes. */
  readonly batchSize?: number;
}

export interface ReadBackwardsOptions {
  /** Read the events before this position. By default all, from the last event back. */
  readonly before?: Position;
  /** Maximum events per batch (default 1,000). */
  readonly batchSize?: number;
}

export interface SubscribeOptions extends ReadAllOptions {
  /** Ends the subscription: the iteration finishes without an error. */
  readonly signal?: AbortSignal;
}

export interface ReadStreamOptions {
  /** First revision to read. By default 0, or the last one if `backwards`. */
  readonly from?: number;
  readonly backwards?: boolean;
  /** Maximum events in total; 0 reads none. */
  readonly limit?: number;
  readonly batchSize?: number;
}

/** The stream is not at the expected revision. Nothing was appended. */
export class RevisionConflict extends NamedError {
  constructor(
    readonly stream: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`${stream} is at revision ${actual}, not ${expected}`);
  }
}

/** The append exceeds `APPEND_LIMITS`, or an event violates `NewEvent`. Nothing was appended. */
export class UnacceptableAppend extends NamedError {}

/** The code and the HTTP status of `StreamDeleted`. */
export const STREAM_DELETED = 410;

/**
 * The stream was deleted for good by other means than this log (in EventStoreDB: tombstoned), so nothing can be
 * appended to it any more. A retry does not help, and other streams are not affected: it is a fault of what is appended
 * (`docs/decisions.md#x91`).
 */
export class StreamDeleted extends Fault {
  constructor(stream: string) {
    super(
      String(STREAM_DELETED),
      STREAM_DELETED,
      `${stream} was deleted from the event log, so it cannot be changed any more: ask the operator to restore it ` +
        'from a backup',
    );
  }
}

/**
 * An engine failed to answer: the disk is full or read-only, the server is down, a request timed out. The outcome of an
 * append is unknown. A retry with the same ids and the same expected revision is safe.
 */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}

/** Events are missing from the log. A retry does not help; restore a backup. */
export class DamagedLog extends EngineUnavailable {
  /** `what` names what is missing, and where. */
  constructor(what: string) {
    super(`the event log is damaged: ${what}; restore it from a backup`);
  }
}

/**
 * The event log: streams of events in one total order, and the only source of truth.
 *
 * Every engine passes `test/contracts/event-log.ts`. Any method may raise `EngineUnavailable`. An engine that stores
 * the events itself raises `DamagedLog` when events are missing, instead of skipping them.
 */
export abstract class EventLog {
  /**
   * Appends all of `events` to the end of one stream, durably, or none of them.
   *
   * `expected` is the revision of the stream's last event, or `NO_STREAM` for a new stream. The append is idempotent:
   * if exactly these event ids follow `expected` in the stream already, it succeeds without writing anything, however
   * long ago they were appended. Any other mismatch raises `RevisionConflict`. An append without events only checks the
   * revision.
   *
   * Raises `StreamDeleted`, and `UnacceptableAppend` if the events violate `APPEND_LIMITS` or `NewEvent`, if the
   * stream's name is empty or starts with `$`, or if a text cannot be stored unchanged (a lone surrogate, U+0000).
   */
  abstract append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended>;

  /**
   * Reads the events of one stream, in order or backwards, in batches. A stream that does not exist is empty, and so is
   * one whose name `append` would refuse.
   */
  abstract readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<readonly RecordedEvent[]>;

  /** Reads every event after a position up to the current end of the log. The last batch has `caughtUp`. */
  abstract readAll(options: ReadAllOptions): AsyncIterable<EventBatch>;

  /** Reads every event before a position, newest first, back to the first event of the log. */
  abstract readAllBackwards(options?: ReadBackwardsOptions): AsyncIterable<readonly RecordedEvent[]>;

  /**
   * Reads every event after a position, then waits for new ones: each event exactly once, in order. At least one batch
   * is delivered, even over an empty log, so that the subscriber learns when it has caught up. The consumer sets the
   * pace.
   */
  abstract subscribe(options: SubscribeOptions): AsyncIterable<EventBatch>;

  /** The position of the last event; `START` for an empty log. */
  abstract head(): Promise<Position>;

  /**
   * Closes the log. Subscriptions end. Reads and appends in progress, and later ones, raise `EngineUnavailable`, so an
   * interrupted read is not mistaken for a complete one.
   */
  abstract close(): Promise<void>;
}

/**
 * An event log that forgets: what is older than some time is deleted for good.
 *
 * Of each stream the last event is kept, so that revisions continue. A stream whose beginning is deleted is read from
 * its first remaining event. Reads of all streams skip what is deleted; EventStoreDB deletes it there when it is
 * scavenged. An append is no longer recognized as a repeated one when its events are deleted, but raises
 * `RevisionConflict`. Every engine passes `test/contracts/expiring-log.ts`.
 */
export abstract class ExpiringLog extends EventLog {
  /**
   * Deletes the events of `streams` that were appended before a time, in slices: appends and reads continue meanwhile.
   * May be called by several processes at once. `streams` are all streams of the log, since not every engine can list
   * them.
   */
  abstract expire(before: Date, streams: readonly string[]): Promise<void>;
}

/**
 * Prefixes of the streams that processes and commands fold from the start of the log: the directory,
 * subscriptions, sources of feeds, exchange rates, and whose deliveries a log has. An engine finds their events
 * without reading the rest of the log.
 */
export const REFERENCE_STREAMS: readonly string[] = [
  'organisation-',
  'program-',
  'site-',
  'feedinfo-',
  'category-',
  'mapping-',
  'subscription-',
  'feedsource-',
  'exchange-rates',
  'deliveries-owner',
];
