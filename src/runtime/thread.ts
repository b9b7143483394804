import { constants, getPriority, setPriority } from 'node:os';
import {
  MessageChannel,
  type MessagePort,
  type ResourceLimits,
  Worker,
  workerData,
} from 'node:worker_threads';
import { EngineUnavailable } from '../kernel/event-log';
import { type Clock } from './clock';
import { Backoff } from './unavailable';
import { crash, describeFailure } from './failure-report';
import { callsOver, type Remote, serveCalls } from './calls';

export interface Thread<T> {
  readonly calls: Remote<T>;
  /** Ends the thread in an orderly way; a thread that has died counts as ended. */
  readonly end: () => Promise<void>;
}

/** What a thread is started with; the ports of a ticket are transferred. */
export interface ThreadData {
  readonly ticket?: { readonly ports: readonly MessagePort[] };
}

export interface ThreadParts<T, Data> {
  readonly clock: Clock;
  /** The compiled file of the thread. */
  readonly file: string;
  /** What the file runs, if it can run several things. */
  readonly name?: string;
  /** The methods that can be called: no others, since Nest would call hooks of an object that seems to have them. */
  readonly methods: readonly (keyof Remote<T> & string)[];
  /** Called for each start. */
  readonly data: () => Data;
  readonly report: (failure: string, stack?: string) => void;
  /** Called when the thread has died and another one has taken its place. */
  readonly onRestart?: (calls: Remote<T>) => Promise<unknown>;
  readonly resourceLimits?: ResourceLimits;
  /** It is started by the first call: many processes never need it, and each thread takes some 15 MB. */
  readonly startsWithCall?: boolean;
}

interface WorkerData<Data, Name> {
  readonly name: Name;
  readonly data: Data;
  /** Receives the calls. */
  readonly port: MessagePort;
  /** Receives the request to end, and reports failures. */
  readonly control: MessagePort;
}

interface ThreadControl {
  /** Why it could not be closed in an orderly way, if it could not. */
  end(): Promise<string | undefined>;
}

/**
 * Lets threads that answer requests go first. On Linux each thread has a priority of its own, which those that it
 * starts inherit; elsewhere it would be that of the whole process, so nothing is changed.
 */
export function giveWay(): void {
  const below = constants.priority.PRIORITY_BELOW_NORMAL;
  // What started this process may have given it a lower one.
  if (process.platform === 'linux' && getPriority() < below) setPriority(below);
}

/** How long to wait before a thread that has died is replaced (ms). */
const RESTART_MS = { first: 100, longest: 60_000 } as const;

/**
 * Starts a thread. Should it die, its calls fail as `EngineUnavailable`, the failure is reported, and it is replaced
 * after a while.
 */
export function startThread<T extends object, Data extends ThreadData>(
  parts: ThreadParts<T, Data>,
): Thread<T> {
  const { clock, methods, report, onRestart } = parts;
  const ending = new AbortController();
  const backoff = new Backoff(clock, RESTART_MS);
  let started = 0;
  let current: Thread<T> | undefined;
  if (parts.startsWithCall !== true) startNew();

  function startNew(): Thread<T> {
    started = clock.monotonic();
    return (current = startWorker<T, Data>(parts, replace));
  }

  function replace(): void {
    if (ending.signal.aborted) return;
    if (clock.monotonic() - started > RESTART_MS.longest) backoff.reset();
    backoff
      .wait(ending.signal)
      .then(async () => {
        if (ending.signal.aborted) return;
        const { calls } = startAgain();
        await onRestart?.(calls);
      })
      .catch((error: unknown) => report(textOf(error)));
  }

  /** The system may lack the memory for a thread: then there is no thread whose death could be noticed. */
  function startAgain(): Thread<T> {
    try {
      return startNew();
    } catch (error) {
      replace();
      throw error;
    }
  }

  /** What a call goes to. */
  function startedThread(): Thread<T> {
    if (current !== undefined) return current;
    if (ending.signal.aborted) throw new EngineUnavailable('the thread has been ended');
    try {
      return startNew();
    } catch (cause) {
      throw new EngineUnavailable('the system cannot start a thread', { cause });
    }
  }

  const calls = methods.map((name) => [
    name,
    async (...args: readonly unknown[]) => {
      const { calls } = startedThread();
      return await (calls as Record<string, (...sent: readonly unknown[]) => Promise<unknown>>)[name]?.(
        ...args,
      );
    },
  ]);
  return {
    calls: Object.fromEntries(calls) as Remote<T>,
    end: async () => {
      if (ending.signal.aborted) return;
      ending.abort();
      await current?.end();
    },
  };
}

function startWorker<T extends object, Data extends ThreadData>(
  { file, name, data: newData, report, resourceLimits }: ThreadParts<T, Data>,
  onDeath: () => void,
): Thread<T> {
  const data = newData();
  const calls = new MessageChannel();
  const control = new MessageChannel();
  const given: WorkerData<Data, string | undefined> = {
    name,
    data,
    port: calls.port2,
    control: control.port2,
  };
  const worker = new Worker(file, {
    workerData: given,
    transferList: [calls.port2, control.port2, ...(data.ticket?.ports ?? [])],
    ...(resourceLimits === undefined ? {} : { resourceLimits }),
  });
  worker.unref();
  let isAlive = true;
  worker.on('error', (error: unknown) => report(`a thread has died: ${textOf(error)}`));
  worker.once('exit', (code) => {
    isAlive = false;
    if (code !== 0) onDeath();
  });
  control.port1.on('message', (message: { readonly text?: string; readonly stack?: string }) => {
    if (message.text !== undefined) report(message.text, message.stack);
  });
  const { end } = callsOver<ThreadControl>(control.port1);
  return {
    calls: callsOver<T>(calls.port1),
    end: async () => {
      if (!isAlive) return;
      // The call itself fails only when the thread has died, which `report` receives.
      const failure = await end().catch(() => undefined);
      if (failure !== undefined) throw new Error(failure);
    },
  };
}

/** What a thread serves until it is ended. */
export interface Served {
  readonly calls: object;
  /** Called in this order at the end, each when the last one is done. */
  readonly close: readonly (() => unknown)[];
}

/** Opens what a thread serves. `report` receives failures after which it continues. */
export type OpenServed<Name> = (
  data: never,
  report: (failure: unknown) => void,
  name: Name,
) => Promise<Served> | Served;

/** The other side: opens what the thread serves. A failure to open is reported by `startThread`. */
export function serveThread(clock: Clock, open: OpenServed<never>): void {
  const { name, data, port, control } = workerData as WorkerData<never, never>;
  const report = (failure: unknown): void => control.postMessage(describeFailure(failure));
  const opened = Promise.resolve(open(data, report, name));
  serveCalls(control, {
    end: async () => {
      const failure = await closeAll((await opened).close).then(() => undefined, textOf);
      // After the answer has been sent. Nothing else keeps the thread alive.
      clock.soon(() => {
        port.close();
        control.close();
      });
      return failure;
    },
  } satisfies ThreadControl);
  opened.then(({ calls }) => serveCalls(port, calls)).catch(crash);
}

async function closeAll(close: Served['close']): Promise<void> {
  for (const one of close) await one();
}

function textOf(error: unknown): string {
  return describeFailure(error).text;
}
