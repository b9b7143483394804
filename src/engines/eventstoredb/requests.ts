import { Empty, StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type Position, START } from '../../kernel/event';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { Backoff, type OnRetry } from '../../runtime/unavailable';
import { isTransient, unavailable } from './failure';

/** Events, matching or not, after which a filtered subscription sends a checkpoint. */
const CHECKPOINT_INTERVAL = 256;

/** The maximum count of the protocol. */
const ALL = '9223372036854775807';

/** Requests the last revision of a stream even if none of its events can be read. */
const WITH_LAST_REVISION = 1;

/** Reads a stream from a revision, forwards or backwards; by default from its start or its end. */
export function streamRequest(
  stream: string,
  { from, backwards, limit }: { from: number | undefined; backwards: boolean; limit: number },
): ReadReq {
  const part = new ReadReq.Options.StreamOptions().setStreamIdentifier(
    new StreamIdentifier().setStreamName(Buffer.from(stream)),
  );
  if (from !== undefined) part.setRevision(String(from));
  else if (backwards) part.setEnd(new Empty());
  else part.setStart(new Empty());
  const control = new ReadReq.Options.ControlOption().setCompatibility(WITH_LAST_REVISION);
  return request(backwards, (options) =>
    options.setStream(part).setCount(countOf(limit)).setNoFilter(new Empty()).setControlOption(control),
  );
}

/**
 * Reads the whole log backwards from a position, by default from its end; with `regex` only streams whose names in the
 * server match. Then the server answers when it has found as many, or there are no more.
 */
export function backwardsRequest(before: Position | undefined, limit: number, regex?: string): ReadReq {
  return request(true, (options) => {
    const read = options.setAll(allFrom(before)).setCount(countOf(limit));
    return regex === undefined ? read.setNoFilter(new Empty()) : read.setFilter(filterOf(regex));
  });
}

function filterOf(regex: string): ReadReq.Options.FilterOptions {
  return new ReadReq.Options.FilterOptions()
    .setStreamIdentifier(new ReadReq.Options.FilterOptions.Expression().setRegex(regex))
    .setMax(CHECKPOINT_INTERVAL)
    .setCheckpointintervalmultiplier(1);
}

/** Subscribes after a position to streams whose names in the server match a regular expression. */
export function followRequest(after: Position, regex: string): ReadReq {
  const subscription = new ReadReq.Options.SubscriptionOptions();
  return request(false, (options) =>
    options.setAll(allFrom(after)).setSubscription(subscription).setFilter(filterOf(regex)),
  );
}

function request(backwards: boolean, change: (options: ReadReq.Options) => ReadReq.Options): ReadReq {
  const { BACKWARDS, FORWARDS } = ReadReq.Options.ReadDirection;
  const options = new ReadReq.Options()
    .setReadDirection(backwards ? BACKWARDS : FORWARDS)
    .setUuidOption(new ReadReq.Options.UUIDOption().setString(new Empty()));
  return new ReadReq().setOptions(change(options));
}

/** Events written over gRPC have equal prepare and commit positions. */
function allFrom(position: Position | undefined): ReadReq.Options.AllOptions {
  if (position === undefined) return new ReadReq.Options.AllOptions().setEnd(new Empty());
  if (position === START) return new ReadReq.Options.AllOptions().setStart(new Empty());
  const offset = BigInt(position).toString();
  const bound = new ReadReq.Options.Position().setCommitPosition(offset).setPreparePosition(offset);
  return new ReadReq.Options.AllOptions().setPosition(bound);
}

function countOf(limit: number): string {
  return limit > Number.MAX_SAFE_INTEGER ? ALL : String(limit);
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
