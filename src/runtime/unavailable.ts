import { EngineUnavailable } from '../kernel/event-log';

/** Receives why an engine is not available, while it is being retried: a message for operators without host, path or password. */
export type OnRetry = (failure: string) => void;

/** How long (ms) a server that has never answered may be silent before that is reported. */
export const SILENCE_MS = 3_000;

/** The URL of an engine is malformed. The message omits the URL, which may contain a password. */
export class UnusableUrl extends Error {
  override readonly name = 'UnusableUrl';
}

/** Resolves like `work`, or rejects with `late()` after `milliseconds`; the work itself is not stopped. */
export async function withTimeout<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: () => Error,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls `onLate` if `work` takes longer than `milliseconds`. Resolves or rejects like `work`. */
export async function noticingDelay<Result>(
  work: Promise<Result>,
  milliseconds: number,
  onLate: () => void,
): Promise<Result> {
  const timer = setTimeout(onLate, milliseconds);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for an engine; raises `EngineUnavailable` after `milliseconds`. `engine`: "the read store". */
export function withEngineTimeout<Answer>(
  engine: string,
  answer: Promise<Answer>,
  milliseconds: number,
): Promise<Answer> {
  return withTimeout(
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
