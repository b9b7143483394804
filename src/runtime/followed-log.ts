import { NamedError } from '../kernel/fault';
import { type Clock } from './clock';
import { Backoff } from './unavailable';
import { crash } from './failure-report';
import { type Position, type RecordedEvent } from '../kernel/event';
import { DamagedLog, EngineUnavailable, type EventLog } from '../kernel/event-log';
import { newPromise, WaitablePosition } from './concurrency';

/** Back-off after failures (ms). */
const BACKOFF = { first: 50, longest: 5_000 } as const;

/** How long a request waits for what is followed (ms). */
const REQUEST_TIMEOUT = 5_000;

/** What follows the log. */
export interface Follower {
  /** Prefixes of the streams to read. */
  readonly prefixes: readonly string[];
  /** Raises what makes an event unusable: it is skipped. */
  readonly apply: (event: RecordedEvent) => void;
  /** Names it in errors: "the directory". */
  readonly subject: string;
  readonly report?: (failure: unknown) => void;
}

/** An event cannot be used: it is as if it had not happened. */
class EventIgnored extends NamedError {
  constructor({ type, stream, revision }: RecordedEvent, subject: string, cause: unknown) {
    super(`${type} (${stream}@${revision}) cannot be used for ${subject}, and is ignored`, { cause });
  }
}

/** A state in memory that follows the log until `signal` aborts; it retries while the engine is unavailable. */
export class FollowedLog {
  /**
   * Resolves once all events that existed at the start have been applied; rejects if the log is damaged, or after the
   * signal.
   */
  readonly ready: Promise<void>;
  /**
   * Resolves after the signal. On any failure other than an unavailable engine, which is a bug, it rejects, and the
   * thread ends.
   */
  readonly ended: Promise<void>;
  private readonly applied = new WaitablePosition();

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly follower: Follower,
    private readonly signal: AbortSignal,
    private readonly timeoutMs = REQUEST_TIMEOUT,
    onBug: (failure: unknown) => void = crash,
  ) {
    const { promise, resolve, reject } = newPromise();
    this.ready = promise;
    // Nobody may be waiting: this avoids an unhandled rejection.
    this.ready.catch(() => undefined);
    this.ended = this.follow(resolve, reject);
    // A state that no longer follows must not be used, and whoever awaits its end does so much later.
    this.ended.catch(onBug);
  }

  /** All events up to this position have been applied. */
  get position(): Position {
    return this.applied.position;
  }

  /** Waits until all events up to `position` have been applied: true, or false if `signal` aborts first. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    return await this.applied.reached(position, signal);
  }

  /** As `reached`, but false after this many milliseconds. */
  async reachedWithin(position: Position, milliseconds: number): Promise<boolean> {
    // Most requests need not wait: a timeout for each would stay until it expires.
    if (this.position >= position) return true;
    const late = new AbortController();
    const timer = this.clock.timer(milliseconds, () => late.abort());
    const isReached = await this.reached(position, late.signal);
    timer.cancel();
    return isReached;
  }

  /** As `reached`, for a request: raises `EngineUnavailable` after the timeout. */
  async reachedInTime(position: Position): Promise<void> {
    if (!(await this.reachedWithin(position, this.timeoutMs)))
      throw new EngineUnavailable(`${this.follower.subject} is behind the log`);
  }

  /** What one event does to it must not end everything that it is asked for. */
  private applyOrSkip(event: RecordedEvent): void {
    const { apply, subject, report } = this.follower;
    try {
      apply(event);
    } catch (error) {
      report?.(new EventIgnored(event, subject, error));
    }
  }

  private async follow(caughtUp: () => void, notReady: (error: unknown) => void): Promise<void> {
    const backoff = new Backoff(this.clock, BACKOFF);
    while (!this.signal.aborted) {
      try {
        const options = { after: this.position, prefixes: this.follower.prefixes, signal: this.signal };
        for await (const batch of this.log.subscribe(options)) {
          for (const event of batch.events) this.applyOrSkip(event);
          this.applied.advance(batch.position);
          if (batch.caughtUp) caughtUp();
          backoff.reset();
        }
        // The signal has aborted, or the log was closed: the loop condition distinguishes them.
        throw new EngineUnavailable('the log has ended the subscription');
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error;
        if (error instanceof DamagedLog) notReady(error);
        await backoff.wait(this.signal);
      }
    }
    notReady(this.signal.reason);
  }
}
