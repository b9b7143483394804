import { Backoff } from '../kernel/backoff';
import { type Position, START } from '../kernel/event';
import { DamagedLog, EngineUnavailable, type EventLog } from '../kernel/event-log';
import { Directory } from './directory';
import { DIRECTORY_PREFIXES } from './events';

/** Back-off after failures (ms). */
const BACKOFF = { first: 50, longest: 5_000 } as const;

/** How long a request waits for the directory (ms). */
const REQUEST_TIMEOUT = 5_000;

/** A directory that follows the log until `signal` aborts; it retries while the engine is unavailable. */
export class FollowedDirectory {
  readonly directory = new Directory();
  /** Resolves once all events that existed at the start have been applied; rejects if the log is damaged. */
  readonly ready: Promise<void>;
  /** Resolves after the signal; rejects on any failure other than an unavailable engine. */
  readonly ended: Promise<void>;
  private applied: Position = START;
  private readonly waiters = new Set<{ readonly position: Position; readonly resolve: () => void }>();

  constructor(
    private readonly log: EventLog,
    private readonly signal: AbortSignal,
    private readonly timeoutMs = REQUEST_TIMEOUT,
  ) {
    const { promise, resolve, reject } = newPromise();
    this.ready = promise;
    // Nobody may be waiting: this avoids an unhandled rejection.
    this.ready.catch(() => undefined);
    this.ended = this.follow(resolve, reject);
  }

  /** All events up to this position have been applied. */
  get position(): Position {
    return this.applied;
  }

  /** Waits until all events up to `position` have been applied: true, or false if `signal` aborts first. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    while (this.applied < position) {
      if (signal?.aborted === true) return false;
      const { promise, resolve } = newPromise();
      const waiter = { position, resolve };
      this.waiters.add(waiter);
      signal?.addEventListener('abort', resolve, { once: true });
      await promise;
      signal?.removeEventListener('abort', resolve);
      this.waiters.delete(waiter);
    }
    return true;
  }

  /** As `reached`, for a request: raises `EngineUnavailable` after the timeout. */
  async reachedInTime(position: Position): Promise<void> {
    // Most requests need not wait: a timeout for each would stay until it expires.
    if (this.applied >= position) return;
    if (await this.reached(position, AbortSignal.timeout(this.timeoutMs))) return;
    throw new EngineUnavailable('the directory is behind the log');
  }

  private async follow(caughtUp: () => void, damaged: (error: unknown) => void): Promise<void> {
    const backoff = new Backoff(BACKOFF);
    while (!this.signal.aborted) {
      try {
        const options = { after: this.applied, prefixes: DIRECTORY_PREFIXES, signal: this.signal };
        for await (const batch of this.log.subscribe(options)) {
          for (const event of batch.events) this.directory.apply(event);
          this.applied = batch.position;
          for (const { position, resolve } of this.waiters) if (position <= this.applied) resolve();
          if (batch.caughtUp) caughtUp();
          backoff.reset();
        }
        // The signal has aborted, or the log was closed: the loop condition distinguishes them.
        throw new EngineUnavailable('the log has ended the subscription');
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error;
        if (error instanceof DamagedLog) damaged(error);
        await backoff.wait(this.signal);
      }
    }
  }
}

function newPromise(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
} {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((settle, fail) => ([resolve, reject] = [settle, fail]));
  return { promise, resolve, reject };
}
