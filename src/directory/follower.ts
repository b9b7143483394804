import { Backoff } from '../kernel/backoff';
import { type Position, START } from '../kernel/event';
import { DamagedLog, EngineUnavailable, type EventLog } from '../kernel/event-log';
import { Directory } from './directory';
import { DIRECTORY_PREFIXES } from './events';

/** How long to wait after the first failure, doubled with each one, up to the longest (ms). */
const WAITS = { first: 50, longest: 5_000 } as const;

/** How long a request waits for the directory (ms). */
const PATIENCE = 5_000;

/** A directory that follows the log until `signal`; an engine that does not answer is asked again and again. */
export function followDirectory(
  log: EventLog,
  signal = new AbortController().signal,
  patience = PATIENCE,
): FollowedDirectory {
  return new FollowedDirectory(log, signal, patience);
}

export class FollowedDirectory {
  readonly directory = new Directory();
  /** Settles once everything has been folded that the log held when it was opened; rejects if the log is damaged. */
  readonly ready: Promise<void>;
  /** Settles when the signal has ended it; rejects if it fails for another reason than an engine. */
  readonly ended: Promise<void>;
  private seen: Position = START;
  private readonly waiting = new Set<{ readonly position: Position; readonly resolve: () => void }>();

  constructor(
    private readonly log: EventLog,
    private readonly signal: AbortSignal,
    private readonly patience: number,
  ) {
    const { promise, resolve, reject } = promised();
    this.ready = promise;
    // For whoever waits for it; the others are not told.
    this.ready.catch(() => undefined);
    this.ended = this.follow(resolve, reject);
  }

  /** Everything in the log up to here has been seen. */
  get position(): Position {
    return this.seen;
  }

  /** Waits until everything up to `position` has been seen: true, or false when `signal` aborts before. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    while (this.seen < position) {
      if (signal?.aborted === true) return false;
      const { promise, resolve } = promised();
      const waiter = { position, resolve };
      this.waiting.add(waiter);
      signal?.addEventListener('abort', resolve, { once: true });
      await promise;
      signal?.removeEventListener('abort', resolve);
      this.waiting.delete(waiter);
    }
    return true;
  }

  /** As `reached`, for a request: raises `EngineUnavailable` when it takes longer than a request may wait. */
  async reachedInTime(position: Position): Promise<void> {
    if (await this.reached(position, AbortSignal.timeout(this.patience))) return;
    throw new EngineUnavailable('the directory is behind the log');
  }

  private async follow(caughtUp: () => void, damaged: (error: unknown) => void): Promise<void> {
    const backoff = new Backoff(WAITS);
    while (!this.signal.aborted) {
      try {
        const options = { after: this.seen, prefixes: DIRECTORY_PREFIXES, signal: this.signal };
        for await (const batch of this.log.subscribe(options)) {
          for (const event of batch.events) this.directory.apply(event);
          this.seen = batch.position;
          for (const { position, resolve } of this.waiting) if (position <= this.seen) resolve();
          if (batch.caughtUp) caughtUp();
          backoff.reset();
        }
        // By the signal, or because the log was closed: the pause below tells.
        throw new EngineUnavailable('the log has ended the subscription');
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error;
        if (error instanceof DamagedLog) damaged(error);
        await backoff.wait(this.signal);
      }
    }
  }
}

function promised(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
} {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((settle, fail) => ([resolve, reject] = [settle, fail]));
  return { promise, resolve, reject };
}
