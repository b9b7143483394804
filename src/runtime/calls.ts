import { type MessagePort, type Transferable } from 'node:worker_threads';
import { crash } from './failure-report';
import { Fault, Faults, Refusal } from '../kernel/fault';
import { EngineUnavailable, RevisionConflict, UnacceptableAppend } from '../kernel/event-log';
import { QueryTooLong } from '../kernel/query';
import { currentTrace, within } from './tracing';
import { NoGeneration, UndeclaredField } from '../kernel/read-store';

/**
 * Calls between threads: one side serves an object's methods over a port, the other calls them. Arguments and
 * results are structured clones; the errors this system knows arrive as what they were. What cannot be cloned
 * fails its properties call only.
 *
 * An argument may be a function, by which the call reports: the other side calls it, and waits until it has returned.
 * It must return nothing. An argument may also be an `AbortSignal`, which cancels the call.
 */
type Methods = object;

/** From the caller: a call, its cancellation, or the acknowledgement of a report. */
type SentCall =
  | {
      readonly call: number;
      readonly method: string;
      readonly args: readonly unknown[];
      readonly special: readonly Special[];
      /** What the call is a part of (`currentTrace`). */
      readonly trace?: string;
    }
  | { readonly cancel: number; readonly reason: SerializedError }
  | { readonly acknowledged: number; readonly error?: SerializedError };

/** To the caller: the answer to a call, or a report of a running one. */
type Returned =
  | CallAnswer
  | { readonly report: number; readonly of: number; readonly arg: number; readonly args: readonly unknown[] };

/** An argument that is not cloned. */
interface Special {
  readonly arg: number;
  readonly is: 'function' | 'signal';
}

interface CallAnswer {
  readonly answer: number;
  readonly result?: unknown;
  readonly error?: SerializedError;
}

interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly faults?: readonly SerializedError[];
  readonly isRefusal?: true;
}

/** An asynchronous view of an object in another thread. */
export type Remote<T> = {
  readonly [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** Answers the calls that arrive at `port` with the methods of `target`, until the port closes. */
export function serveCalls(port: MessagePort, target: Methods): void {
  const reports = new PendingCalls();
  const cancelling = new Map<number, AbortController>();
  let closed = false;
  port.on('close', () => {
    closed = true;
    reports.fail(threadEnded());
  });
  port.on('message', (sent: SentCall) => {
    if ('acknowledged' in sent) reports.settle(sent.acknowledged, sent.error);
    else if ('cancel' in sent) cancelling.get(sent.cancel)?.abort(deserialize(sent.reason));
    // Nobody would learn that a call has no answer.
    else answerTo(sent).catch(crash);
  });

  async function answerTo(sent: Extract<SentCall, { call: number }>): Promise<void> {
    const { call, method, args, special, trace } = sent;
    const received = [...args];
    for (const { arg, is } of special)
      received[arg] = is === 'signal' ? signalOf(call) : reporterOf(call, arg);
    const answer: CallAnswer = await Promise.resolve()
      .then(() => {
        const methods = target as Record<string, (...args: readonly unknown[]) => unknown>;
        return within(trace, () => methods[method]?.(...received));
      })
      .then(
        (result) => ({ answer: call, result }),
        (error: unknown) => ({ answer: call, error: serialize(error) }),
      );
    cancelling.delete(call);
    try {
      port.postMessage(answer);
    } catch (error) {
      port.postMessage(withoutUncloneable(answer, method, error));
    }
  }

  function signalOf(call: number): AbortSignal {
    const controller = cancelling.get(call) ?? new AbortController();
    cancelling.set(call, controller);
    return controller.signal;
  }

  function reporterOf(call: number, arg: number): (...args: readonly unknown[]) => Promise<unknown> {
    return async (...args) => {
      if (closed) throw threadEnded();
      return await reports.add((report) =>
        port.postMessage({ report, of: call, arg, args } satisfies Returned),
      );
    };
  }
}

/** Replaces an answer that cannot be cloned: an error loses its own properties, a result becomes an error. */
function withoutUncloneable({ answer, error }: CallAnswer, method: string, cause: unknown): CallAnswer {
  if (error !== undefined) return { answer, error: { ...error, properties: {} } };
  return { answer, error: serialize(new Error(`${method}: the result cannot be sent (${String(cause)})`)) };
}

/**
 * Calls the methods of `T` over `port`. `transfer` lists the transferable objects among the arguments. When the port
 * closes, pending calls fail with `EngineUnavailable`.
 */
export function callsOver<T extends Methods>(
  port: MessagePort,
  transfer: (args: readonly unknown[]) => readonly Transferable[] = () => [],
): Remote<T> {
  const calls = new PendingCalls();
  const reporters = new Map<string, Reporter>();
  port.on('message', (returned: Returned) => {
    if ('report' in returned) take(returned).catch(crash);
    else calls.settle(returned.answer, returned.error, returned.result);
    if (calls.size === 0) port.unref();
  });
  let closed = false;
  port.on('close', () => {
    closed = true;
    calls.fail(threadEnded());
  });
  port.unref();

  async function take({ report, of, arg, args }: Extract<Returned, { report: number }>): Promise<void> {
    const sent: SentCall = await Promise.resolve()
      .then(() => reporters.get(`${of}/${arg}`)?.(...args))
      .then(
        () => ({ acknowledged: report }),
        (error: unknown) => ({ acknowledged: report, error: serialize(error) }),
      );
    if (!closed) port.postMessage(sent);
  }

  async function call(method: string, args: readonly unknown[]): Promise<unknown> {
    if (closed) throw threadEnded();
    const undo: (() => void)[] = [];
    const answered = calls.add((id) => {
      const special: Special[] = [];
      const cloned = args.map((value, arg) => {
        if (!(value instanceof AbortSignal) && typeof value !== 'function') return value;
        special.push({ arg, is: typeof value === 'function' ? 'function' : 'signal' });
        undo.push(typeof value === 'function' ? reportTo(value as Reporter, id, arg) : cancelBy(value, id));
        return undefined;
      });
      const trace = currentTrace();
      const sent: SentCall = {
        call: id,
        method,
        args: cloned,
        special,
        ...(trace !== undefined && { trace }),
      };
      port.postMessage(sent, transfer(args));
    });
    if (calls.size > 0) port.ref();
    return await answered.finally(() => {
      for (const one of undo) one();
    });
  }

  function reportTo(reporter: Reporter, call: number, arg: number): () => void {
    const key = `${call}/${arg}`;
    reporters.set(key, reporter);
    return () => reporters.delete(key);
  }

  function cancelBy(signal: AbortSignal, call: number): () => void {
    const cancel = (): void => {
      if (!closed) port.postMessage({ cancel: call, reason: serialize(signal.reason) } satisfies SentCall);
    };
    // After the call has been sent.
    if (signal.aborted) queueMicrotask(cancel);
    else signal.addEventListener('abort', cancel, { once: true });
    return () => signal.removeEventListener('abort', cancel);
  }

  return new Proxy({} as Remote<T>, {
    get: (_, method) =>
      typeof method === 'symbol' || method === 'then'
        ? undefined
        : (...args: readonly unknown[]) => call(method, args),
  });
}

type Reporter = (...args: readonly unknown[]) => unknown;

/** Calls or reports that wait for their answers, by number. */
class PendingCalls {
  private readonly all = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  private last = 0;

  get size(): number {
    return this.all.size;
  }

  /** Sends under a new number. If `send` raises, nothing is pending. */
  add(send: (id: number) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.last += 1;
      send(this.last);
      this.all.set(this.last, { resolve, reject });
    });
  }

  settle(id: number, error: SerializedError | undefined, result?: unknown): void {
    const one = this.all.get(id);
    this.all.delete(id);
    if (error === undefined) one?.resolve(result);
    else one?.reject(deserialize(error));
  }

  fail(error: Error): void {
    for (const { reject } of this.all.values()) reject(error);
    this.all.clear();
  }
}

function threadEnded(): EngineUnavailable {
  return new EngineUnavailable('the thread that answers has ended');
}

/** The classes that are restored on the other side; refusals are, and any other error arrives as a plain `Error`. */
const ERRORS = {
  Fault,
  Faults,
  EngineUnavailable,
  RevisionConflict,
  UnacceptableAppend,
  NoGeneration,
  QueryTooLong,
  UndeclaredField,
};

function serialize(error: unknown): SerializedError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, properties: {} };
  const { name, message, stack } = error;
  const { faults, ...properties } = Object.fromEntries(Object.entries(error)) as Record<string, unknown> & {
    faults?: readonly Error[];
  };
  return {
    ...{ name, message, stack, properties },
    ...(faults && { faults: faults.map(serialize) }),
    ...(error instanceof Refusal && { isRefusal: true }),
  };
}

function deserialize({ name, message, stack, properties, faults, isRefusal }: SerializedError): Error {
  const other = isRefusal === true ? Refusal : Error;
  const known = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : other;
  const error = Object.create(known.prototype) as Error;
  const own = faults && { faults: faults.map(deserialize) };
  return Object.assign(error, properties, own, { name, message, stack });
}
