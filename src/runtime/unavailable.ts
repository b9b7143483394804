import { NamedError } from '../kernel/fault';
import { EngineUnavailable } from '../kernel/event-log';
import { type Clock, type Timer } from './clock';

/**
 * Receives why an engine is not available, while it is being retried: a message for operators without host, path or
 * password.
 */
export type OnRetry = (failure: string) => void;

/** How long (ms) a server that has never answered may be silent before that is reported. */
export const SILENCE_MS = 3_000;

/** The URL of an engine is malformed. The message omits the URL, which may contain a password. */
export class UnusableUrl extends NamedError {}

/** Resolves like `work`, or rejects with `late()` after `milliseconds`; the work itself is not stopped. */
export async function withTimeout<Result>(
  clock: Clock,
  work: Promise<Result>,
  milliseconds: number,
  late: () => Error,
): Promise<Result> {
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = clock.timer(milliseconds, () => reject(late()));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer?.cancel();
  }
}

/** Resolves as soon as `work` has ended, or `milliseconds` have passed. Rejects if `work` fails before that. */
export async function atMost(clock: Clock, milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = clock.timer(milliseconds, resolve);
  });
  await Promise.race([work, timeout]).finally(() => timer?.cancel());
}

/** Calls `onLate` if `work` takes longer than `milliseconds`. Resolves or rejects like `work`. */
export async function noticingDelay<Result>(
  clock: Clock,
  work: Promise<Result>,
  milliseconds: number,
  onLate: () => void,
): Promise<Result> {
  const timer = clock.timer(milliseconds, onLate);
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}

/** Waits for an engine; raises `EngineUnavailable` after `milliseconds`. `engine`: "the read store". */
export function withEngineTimeout<Answer>(
  clock: Clock,
  engine: string,
  answer: Promise<Answer>,
  milliseconds: number,
): Promise<Answer> {
  return withTimeout(
    clock,
    answer,
    milliseconds,
    () => new EngineUnavailable(`${engine} is not available: it does not answer in time`),
  );
}

/**
 * Converts a file system error (full disk, access denied, a file in place of a folder) to `EngineUnavailable`; returns
 * any other error as it is. `what` describes the failure: "the download could not be written to disk".
 */
export function unavailableIfSystem(what: string, error: unknown): unknown {
  const isSystem = typeof error === 'object' && error !== null && 'syscall' in error && 'code' in error;
  return isSystem ? new EngineUnavailable(`${what} (${String(error.code)})`, { cause: error }) : error;
}

/** The reason of a failure, for health checks and operators: contains no host, path or password. */
export function reasonOf(error: unknown): string {
  if (error instanceof EngineUnavailable) return error.message;
  return `${error instanceof Error ? error.name : 'a failure'}: see the log on standard error`;
}

/** The message of an error and of its causes, for the log only. */
export function reasonsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonsOf(error.cause)}`;
}

/** Exponential back-off: the delay (ms) doubles after each wait, up to `longest`. */
export class Backoff {
  private next: number;

  constructor(
    private readonly clock: Clock,
    private readonly delays: { readonly first: number; readonly longest: number },
  ) {
    this.next = delays.first;
  }

  /** The delay (ms) of the next wait. */
  get nextMs(): number {
    return this.next;
  }

  /** Call after a success: the next delay is the first one again. */
  reset(): void {
    this.next = this.delays.first;
  }

  /** Waits for the delay, at most `mostMs`. Returns early, without an error, when the signal aborts. */
  async wait(signal?: AbortSignal, mostMs = Infinity): Promise<void> {
    const ms = Math.min(this.next, mostMs);
    this.next = Math.min(2 * this.next, this.delays.longest);
    await this.clock.pause(ms, signal).catch(() => undefined);
  }
}

/**
 * Whether an error is that of an aborted signal. It checks the name: under Jest, Node.js throws an instance of another
 * realm's class.
 */
export function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}

/** When (ms) a failure that lasts is reported again: after `first`, then at intervals that double up to `longest`. */
const REPEAT_MS = { first: 5_000, longest: 300_000 } as const;

/** A failure that has not occurred for this time (ms) is a new one. */
const FORGET_MS = 60_000;

/**
 * Reports failures that an engine retries, in lines: the first one at once, repetitions at growing intervals
 * (`docs/decisions.md#x96`).
 */
export function retryNotices(clock: Clock, say: (line: string) => void): OnRetry {
  const kinds = new Map<string, { count: number; dueAt: number; pauseMs: number; lastAt: number }>();
  return (failure) => {
    const at = clock.monotonic();
    const known = kinds.get(failure);
    if (known === undefined || at - known.lastAt > FORGET_MS) {
      const pauseMs = REPEAT_MS.first;
      kinds.set(failure, { count: 1, dueAt: at + pauseMs, pauseMs, lastAt: at });
      say(`${failure}; retrying`);
      return;
    }
    known.count += 1;
    known.lastAt = at;
    if (at < known.dueAt) return;
    known.pauseMs = Math.min(2 * known.pauseMs, REPEAT_MS.longest);
    known.dueAt = at + known.pauseMs;
    say(`${failure}; still retrying, ${known.count} failures so far`);
  };
}
