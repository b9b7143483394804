import { type EventLog } from '../../kernel/event-log';
import { Appender } from './appender';
import { clientFor } from './connection';
import { EventStoreLog } from './event-store-log';

/** For how long a server that fails is tried (ms): longer than a silent connection takes to be found out. */
const PATIENCE = 30_000;

export interface OpenOptions {
  /** For how long a server that fails is tried until `EngineUnavailable` is raised (default 30,000 ms). */
  readonly patience?: number;
}

/** What all logs of this thread at one URL share. */
interface Shared {
  readonly client: ReturnType<typeof clientFor>;
  readonly appender: Appender;
  users: number;
}

const shared = new Map<string, Shared>();

/**
 * The log in an EventStoreDB, at an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`, and
 * `EngineUnavailable` when the server does not answer. Each thread opens its own.
 */
export async function openEventStoreDb(
  url: string,
  { patience = PATIENCE }: OpenOptions = {},
): Promise<EventLog> {
  const { client, appender } = share(url, patience);
  const log = new EventStoreLog(client, appender, patience, () => release(url));
  try {
    await log.head();
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
}

/** Reads have a client of their own: what breaks one of them off must not touch appends. */
function share(url: string, patience: number): Shared {
  const opened = shared.get(url) ?? {
    client: clientFor(url),
    appender: new Appender(() => clientFor(url), patience),
    users: 0,
  };
  opened.users += 1;
  shared.set(url, opened);
  return opened;
}

async function release(url: string): Promise<void> {
  const opened = shared.get(url);
  if (opened === undefined) return;
  opened.users -= 1;
  if (opened.users > 0) return;
  shared.delete(url);
  await opened.appender.close();
  await opened.client.dispose();
}
