import { type MessagePort, type Transferable } from 'node:worker_threads';
import { Fault, Faults } from './fault';
import { EngineUnavailable, RevisionConflict, UnacceptableAppend } from './event-log';
import { QueryTooLong } from './query';
import { NoGeneration, UndeclaredField } from './read-store';

/**
 * Calls between threads: one side serves an object's methods over a port, the other calls them. Arguments and
 * results are structured clones; the errors this system knows arrive as what they were. What cannot be cloned
 * fails its own call only.
 */
type Methods = object;

interface Call {
  readonly call: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

interface Answer {
  readonly answer: number;
  readonly result?: unknown;
  readonly error?: SentError;
}

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly own: Readonly<Record<string, unknown>>;
  readonly faults?: readonly SentError[];
}

/** An asynchronous view of an object in another thread. */
export type Remote<T> = {
  readonly [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** Answers the calls that come in at `port` with the methods of `target`, until the port closes. */
export function serveCalls(port: MessagePort, target: Methods): void {
  port.on('message', (message: Call) => {
    void answerTo(message);
  });

  async function answerTo({ call, method, args }: Call): Promise<void> {
    const answer: Answer = await Promise.resolve()
      .then(() => (target as Record<string, (...args: readonly unknown[]) => unknown>)[method]?.(...args))
      .then(
        (result) => ({ answer: call, result }),
        (error: unknown) => ({ answer: call, error: toSent(error) }),
      );
    try {
      port.postMessage(answer);
    } catch (error) {
      port.postMessage(unsendable(answer, method, error));
    }
  }
}

/** The answer in place of one that cannot be cloned: the error without its own properties, or why there is no result. */
function unsendable({ answer, error }: Answer, method: string, cause: unknown): Answer {
  if (error !== undefined) return { answer, error: { ...error, own: {} } };
  return { answer, error: toSent(new Error(`${method}: the result cannot be sent (${String(cause)})`)) };
}

/**
 * The other side: each method of `T` called over `port`. Port arguments must be named in `transfer`. When the
 * port closes, calls without an answer fail as `EngineUnavailable`.
 */
export function callsOver<T extends Methods>(
  port: MessagePort,
  transfer: (args: readonly unknown[]) => readonly Transferable[] = () => [],
): Remote<T> {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let last = 0;
  port.on('message', ({ answer, result, error }: Answer) => {
    const caller = waiting.get(answer);
    waiting.delete(answer);
    if (waiting.size === 0) port.unref();
    if (error === undefined) caller?.resolve(result);
    else caller?.reject(fromSent(error));
  });
  let closed = false;
  port.on('close', () => {
    closed = true;
    for (const { reject } of waiting.values()) reject(ended());
    waiting.clear();
  });
  port.unref();
  return new Proxy({} as Remote<T>, {
    get: (_, method) =>
      typeof method === 'symbol' || method === 'then'
        ? undefined
        : (...args: readonly unknown[]) =>
            new Promise((resolve, reject) => {
              if (closed) {
                reject(ended());
                return;
              }
              last += 1;
              port.postMessage({ call: last, method, args } satisfies Call, transfer(args));
              waiting.set(last, { resolve, reject });
              port.ref();
            }),
  });
}

function ended(): EngineUnavailable {
  return new EngineUnavailable('the thread that answers has ended');
}

const KNOWN = {
  Fault,
  Faults,
  EngineUnavailable,
  RevisionConflict,
  UnacceptableAppend,
  NoGeneration,
  QueryTooLong,
  UndeclaredField,
};

function toSent(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined, own: {} };
  const { name, message, stack } = error;
  const { faults, ...own } = Object.fromEntries(Object.entries(error)) as Record<string, unknown> & {
    faults?: readonly Error[];
  };
  return { name, message, stack, own, ...(faults === undefined ? {} : { faults: faults.map(toSent) }) };
}

function fromSent(sent: SentError): Error {
  const known = Object.hasOwn(KNOWN, sent.name) ? KNOWN[sent.name as keyof typeof KNOWN] : Error;
  const error = Object.create(known.prototype) as Error;
  const faults = sent.faults === undefined ? {} : { faults: sent.faults.map(fromSent) };
  return Object.assign(error, sent.own, faults, {
    name: sent.name,
    message: sent.message,
    stack: sent.stack,
  });
}
