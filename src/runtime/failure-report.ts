import { type Logger } from 'pino';
import { RepeatedFailures } from './repeated-failures';
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
export function failureReporter(log: Logger): Report {
  const repeated = new RepeatedFailures();
  return (failure, ofExpected) => {
    const { text, stack = ofExpected } = describeFailure(failure);
    if (stack !== undefined) log.debug({ stack }, text);
    const times = repeated.count(text);
    if (times === undefined) return;
    log.error(times === 0 ? {} : { repeated: times }, text);
  };
}
