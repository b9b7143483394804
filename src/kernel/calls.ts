import { type MessagePort, type Transferable } from 'node:worker_threads';
import { Fault, Faults } from './fault';
import { EngineUnavailable, RevisionConflict, UnacceptableAppend } from './event-log';
import { QueryTooLong } from './query';
import { NoGeneration, UndeclaredField } from './read-store';

/**
 * Method calls between threads: `serveCalls` exposes an object's methods on a port, `callsOver` calls them from the other
 * end. Arguments and results are structured clones. Errors in `ERRORS` keep their class. A value that cannot be cloned
 * fails only its own call.
 */
type Methods = object;

interface CallRequest {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

interface CallResponse {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: SerializedError;
}

interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly faults?: readonly SerializedError[];
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
  port.on('message', (request: CallRequest) => {
    void respond(request);
  });

  async function respond({ id, method, args }: CallRequest): Promise<void> {
    const response: CallResponse = await Promise.resolve()
      .then(() => (target as Record<string, (...args: readonly unknown[]) => unknown>)[method]?.(...args))
      .then(
        (result) => ({ id, result }),
        (error: unknown) => ({ id, error: serialize(error) }),
      );
    try {
      port.postMessage(response);
    } catch (error) {
      port.postMessage(withoutUncloneable(response, method, error));
    }
  }
}

/** Replaces a response that cannot be cloned: an error loses its own properties, a result becomes an error. */
function withoutUncloneable({ id, error }: CallResponse, method: string, cause: unknown): CallResponse {
  if (error !== undefined) return { id, error: { ...error, properties: {} } };
  return { id, error: serialize(new Error(`${method}: the result cannot be sent (${String(cause)})`)) };
}

/**
 * Calls the methods of `T` over `port`. `transfer` lists the transferable objects among the arguments. When the port
 * closes, pending calls fail with `EngineUnavailable`.
 */
export function callsOver<T extends Methods>(
  port: MessagePort,
  transfer: (args: readonly unknown[]) => readonly Transferable[] = () => [],
): Remote<T> {
  const pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  port.on('message', ({ id, result, error }: CallResponse) => {
    const caller = pending.get(id);
    pending.delete(id);
    if (pending.size === 0) port.unref();
    if (error === undefined) caller?.resolve(result);
    else caller?.reject(deserialize(error));
  });
  let isClosed = false;
  port.on('close', () => {
    isClosed = true;
    for (const { reject } of pending.values()) reject(threadEnded());
    pending.clear();
  });
  port.unref();
  return new Proxy({} as Remote<T>, {
    get: (_, method) =>
      typeof method === 'symbol' || method === 'then'
        ? undefined
        : (...args: readonly unknown[]) =>
            new Promise((resolve, reject) => {
              if (isClosed) {
                reject(threadEnded());
                return;
              }
              lastId += 1;
              port.postMessage({ id: lastId, method, args } satisfies CallRequest, transfer(args));
              pending.set(lastId, { resolve, reject });
              port.ref();
            }),
  });
}

function threadEnded(): EngineUnavailable {
  return new EngineUnavailable('the thread that answers has ended');
}

/** The classes that are restored on the other side; any other error arrives as a plain `Error`. */
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
    name,
    message,
    stack,
    properties,
    ...(faults === undefined ? {} : { faults: faults.map(serialize) }),
  };
}

function deserialize(serialized: SerializedError): Error {
  const { name, message, stack, properties } = serialized;
  const { prototype } = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : Error;
  const error = Object.create(prototype) as Error;
  const faults = serialized.faults === undefined ? {} : { faults: serialized.faults.map(deserialize) };
  return Object.assign(error, properties, faults, { name, message, stack });
}
