import { setTimeout as after } from 'node:timers/promises';
import { type Config } from '../config';

/** What a process does (docs/architecture.md, Processes). */
export const ROLES = ['api', 'projector', 'notifier'] as const;
export type Role = (typeof ROLES)[number];

export interface ServeOptions {
  readonly roles: readonly Role[];
  /** Fill an empty data folder with the demonstration network. */
  readonly demo: boolean;
}

/** A service that is up. */
export interface Running {
  /** Where it listens, `http://127.0.0.1:3000`; absent if no role of it does. */
  readonly url?: string;
  /** Lines for whoever started it. */
  readonly shown?: readonly string[];
  /** Takes no more requests and finishes those accepted; settles when all is closed. */
  stop(): Promise<void>;
}

export type Start = (config: Config, options: ServeOptions) => Promise<Running>;

/** Whoever asked for the end kills what is left after ten seconds. */
const STOP_MS = 9_000;

/**
 * Serves until `signal`. Says on `say` where it listens, once it does. A stop that takes longer than `patience` (ms) is
 * not waited for: whatever was answered is durable.
 */
export async function serve(
  start: Start,
  config: Config,
  options: ServeOptions,
  signal: AbortSignal,
  say: (line: string) => void,
  patience = STOP_MS,
): Promise<void> {
  if (signal.aborted) return;
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const running = await Promise.race([start(config, options), stopped]);
  if (running === undefined) return;
  for (const line of running.shown ?? []) say(line);
  say(running.url === undefined ? `running ${options.roles.join(', ')}` : `listening on ${running.url}`);
  await stopped;
  const settled = new AbortController();
  const late = after(patience, undefined, { signal: settled.signal });
  await Promise.race([running.stop(), late]).finally(() => settled.abort());
}
