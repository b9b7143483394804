import { type Logger } from 'pino';
import { type Clock } from './clock';
import { reasonsOf } from './unavailable';

/**
 * Receives a failure after which the process continues: an error or its text. `stack` is that of an expected failure,
 * whose text has none.
 */
export type Report = (failure: unknown, stack?: string) => void;

/** Failures that have other causes than a bug, by the names of their errors: their stacks explain nothing. */
const EXPECTED: ReadonlySet<string> = new Set([
  'EngineUnavailable',
  'NoGeneration',
  'DocumentsParked',
  'TooManyParked',
]);

/** A failure as text, which can be sent between threads: with the stack of a bug. */
export function describeFailure(failure: unknown): { readonly text: string; readonly stack?: string } {
  if (!(failure instanceof Error)) return { text: String(failure) };
  const stack = stackOf(failure);
  return EXPECTED.has(failure.name) ? { text: reasonsOf(failure), stack } : { text: stack };
}

/** With those of its causes. */
function stackOf({ message, stack = message, cause }: Error): string {
  return cause instanceof Error ? `${stack}\ncaused by ${stackOf(cause)}` : stack;
}

/** Logs failures, the same one once a minute; stacks of expected ones at level `debug` (`docs/decisions.md#x87`). */
export function failureReporter(clock: Clock, log: Logger): Report {
  const repeated = new RepeatedFailures(clock);
  return (failure, ofExpected) => {
    const { text, stack = ofExpected } = describeFailure(failure);
    if (stack !== undefined) log.debug({ stack }, text);
    const times = repeated.count(text);
    if (times === undefined) return;
    log.error(times === 0 ? {} : { repeated: times }, text);
  };
}

/** How long the same failure is not logged again (ms). */
const INTERVAL_MS = 60_000;

/** Different failures that are remembered; more would not be the same failure over and over. */
const REMEMBERED = 100;

/** Finds failures that repeat, so that each is logged once a minute (`docs/decisions.md#x87`). */
export class RepeatedFailures {
  private readonly logged = new Map<string, { readonly at: number; repeated: number }>();

  constructor(private readonly clock: Clock) {}

  /**
   * Counts a failure. Undefined if it is not to be logged, since it was logged within the last minute; otherwise how
   * often it has occurred since it was last logged.
   */
  count(failure: string): number | undefined {
    const at = this.clock.monotonic();
    const last = this.logged.get(failure);
    if (last !== undefined && at - last.at < INTERVAL_MS) {
      last.repeated += 1;
      return undefined;
    }
    if (this.logged.size >= REMEMBERED) this.logged.clear();
    this.logged.set(failure, { at, repeated: 0 });
    return last?.repeated ?? 0;
  }
}

/**
 * Ends the thread with a bug that nobody can handle; a thread that has died is reported and replaced (`startThread`),
 * the main thread ends the process. For promises without another owner, which an unhandled rejection would end in the
 * same way, but by accident.
 */
export function crash(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
