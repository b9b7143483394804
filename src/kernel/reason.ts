import { EngineUnavailable } from './event-log';

/** Why something does not work, for whoever watches a process: bears no host, path or password. */
export function reasonOf(error: unknown): string {
  if (error instanceof EngineUnavailable) return error.message;
  return `${error instanceof Error ? error.name : 'a failure'}: the log on standard error says more`;
}
