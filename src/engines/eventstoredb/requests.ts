import { type Position, START } from '../../kernel/event';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { Backoff, type OnRetry } from '../../runtime/unavailable';
import { isTransient, unavailable } from './failure';
import { MessageWriter } from './protocol';

/** Events, matching or not, after which a filtered subscription sends a checkpoint. */
const CHECKPOINT_INTERVAL = 256;

/** The maximum count of the protocol. */
const ALL = 2n ** 63n - 1n;

/** Requests the last revision of a stream even if none of its events can be read. */
const WITH_LAST_REVISION = 1;

/** A request to read or to subscribe. */
export type ReadRequest = Buffer;

/** Reads a stream from a revision, forwards or backwards; by default from its start or its end. */
export function streamRequest(
  stream: string,
  { from, backwards, limit }: { from: number | undefined; backwards: boolean; limit: number },
): ReadRequest {
  return readRequest(backwards, (options) => {
    options.message(10, () => options.number(1, WITH_LAST_REVISION));
    options.message(8);
    options.number(5, countOf(limit));
    options.message(1, () => {
      if (from !== undefined) options.number(2, from);
      else options.message(backwards ? 4 : 3);
      options.message(1, () => options.text(3, stream));
    });
  });
}

/**
 * Reads the whole log backwards from a position, by default from its end; with `regex` only streams whose names in the
 * server match. Then the server answers when it has found as many, or there are no more.
 */
export function backwardsRequest(before: Position | undefined, limit: number, regex?: string): ReadRequest {
  return readRequest(true, (options) => {
    if (regex === undefined) options.message(8);
    else addFilter(options, regex);
    options.number(5, countOf(limit));
    addAllFrom(options, before);
  });
}

/** Subscribes after a position to streams whose names in the server match a regular expression. */
export function followRequest(after: Position, regex: string): ReadRequest {
  return readRequest(false, (options) => {
    addFilter(options, regex);
    options.message(6);
    addAllFrom(options, after);
  });
}

/** The numbers are those of the fields of `ReadReq.Options` and of what they contain. */
function readRequest(backwards: boolean, add: (options: MessageWriter) => void): ReadRequest {
  const request = new MessageWriter();
  request.message(1, () => {
    add(request);
    // Ids as text.
    request.message(9, () => request.message(2));
    request.number(3, backwards ? 1 : 0);
  });
  return request.bytes;
}

function addFilter(options: MessageWriter, regex: string): void {
  options.message(7, () => {
    options.number(5, 1);
    options.number(3, CHECKPOINT_INTERVAL);
    options.message(1, () => options.text(1, regex));
  });
}

/** Events written over gRPC have equal prepare and commit positions. */
function addAllFrom(options: MessageWriter, position: Position | undefined): void {
  options.message(2, () => {
    if (position === undefined) options.message(3);
    else if (position === START) options.message(2);
    else
      options.message(1, () => {
        options.number(2, BigInt(position));
        options.number(1, BigInt(position));
      });
  });
}

function countOf(limit: number): number | bigint {
  return limit > Number.MAX_SAFE_INTEGER ? ALL : limit;
}

/** Delays (ms) between retries. */
const BACKOFF_MS = { first: 50, longest: 2_000 } as const;

/** Limits how long a failing server is retried. */
export class RetryBudget {
  #since: number | undefined;
  readonly #backoff = new Backoff(SYSTEM_CLOCK, BACKOFF_MS);

  /** `retryMs`: maximum time from the first of a series of failures to the last. */
  constructor(private readonly retryMs: number) {}

  /** The time left (ms) for a call that began at `since` (`performance.now`). */
  leftSince(since: number): number {
    return (this.#since ?? since) + this.retryMs - performance.now();
  }

  /** Call when the server has answered: the next failure starts a new series. */
  reset(): void {
    this.#since = undefined;
    this.#backoff.reset();
  }

  /**
   * Waits before the next attempt. Raises `EngineUnavailable` if the error is permanent or the budget is exhausted;
   * raises bugs of our own code as they are. `since`: when the failed call began (`performance.now`).
   */
  async afterFailure(error: unknown, since: number, signal?: AbortSignal, onRetry?: OnRetry): Promise<void> {
    this.#since ??= since;
    const left = this.leftSince(since);
    if (!isTransient(error) || left <= 0) throw unavailable(error);
    onRetry?.(unavailable(error).message);
    await this.#backoff.wait(signal, left);
  }
}
