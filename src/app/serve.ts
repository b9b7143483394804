import { setTimeout as after } from 'node:timers/promises';
import { type Config } from '../settings/config';

/** What a process may do (docs/architecture.md, Processes). */
export const ROLES = ['api', 'projector', 'automation', 'notifier'] as const;
export type Role = (typeof ROLES)[number];

export interface ServeOptions {
  readonly roles: readonly Role[];
  readonly demo: boolean;
}

export interface Running {
  /** Where it listens, `http://127.0.0.1:3000`; absent without the role `api`. */
  readonly url?: string;
  /** Lines to print. */
  readonly shown?: readonly string[];
  /** Accepts no more requests, finishes those accepted, and closes everything. */
  stop(): Promise<void>;
}

/** When `signal` aborts, what is open is closed, and then its reason raised. */
export type StartProcess = (config: Config, options: ServeOptions, signal: AbortSignal) => Promise<Running>;

/** Less than the ten seconds after which process managers kill a process. */
const STOP_MS = 9_000;
const LATE = Symbol('the stop takes too long');

const forcedAfter = (ms: number): string =>
  `stopped after ${ms / 1000} s without waiting for what had not ended: nothing that was acknowledged is lost`;

/** Where a process prints its lines. */
interface Printed {
  /** That it listens or runs, and where. */
  readonly say: (line: string) => void;
  /** What operators have to see whatever the log level is. */
  readonly warn: (line: string) => void;
}

/**
 * Serves until `signal`, which may also stop the start. Does not wait for a stop that takes longer than `patience`
 * (ms), and says so: everything acknowledged is durable.
 */
export async function serve(
  start: StartProcess,
  config: Config,
  options: ServeOptions,
  signal: AbortSignal,
  { say, warn }: Printed,
  patience = STOP_MS,
): Promise<void> {
  if (signal.aborted) return;
  const settled = new AbortController();
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const late = stopped.then(() => after(patience, LATE, { signal: settled.signal }));
  // It is the only one that is left once the others have settled.
  late.catch(() => undefined);
  try {
    const started = start(config, options, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const running = await Promise.race([started, late]);
    if (running === LATE) warn(forcedAfter(patience));
    if (running === undefined || running === LATE) return;
    for (const line of running.shown ?? []) say(line);
    say(running.url === undefined ? `running ${options.roles.join(', ')}` : `listening on ${running.url}`);
    await stopped;
    if ((await Promise.race([running.stop(), late])) === LATE) warn(forcedAfter(patience));
  } finally {
    settled.abort();
  }
}
