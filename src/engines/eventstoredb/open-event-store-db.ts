import { type EventLog } from '../../kernel/event-log';
import { Appender } from './appender';
import { anotherClientFor, clientFor, ReadingClient } from './connection';
import { EventStoreLog } from './event-store-log';

interface Timing {
  /** For how long nothing may come of what is asked for, until the connection is thought broken (ms). */
  readonly silence: number;
  /** For how long a server that fails is tried, until `EngineUnavailable` is raised (ms). */
  readonly patience: number;
}

/** Patience is longer than it takes the client to find out that a connection is dead. */
const TIMING: Timing = { silence: 10_000, patience: 30_000 };

/** What all logs of this thread at one URL share. */
interface Shared {
  readonly reading: ReadingClient;
  readonly appender: Appender;
  users: number;
}

const shared = new Map<string, Shared>();

/**
 * The log in an EventStoreDB, at an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`, and
 * `EngineUnavailable` when the server does not answer. Each thread opens its own.
 */
export async function openEventStoreDb(url: string, timing = TIMING): Promise<EventLog> {
  const { reading, appender } = share(url, timing);
  const log = new EventStoreLog(reading, appender, timing.patience, () => release(url));
  try {
    await log.head();
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
}

function share(url: string, timing: Timing): Shared {
  const opened = shared.get(url) ?? {
    reading: new ReadingClient(url, timing.silence),
    appender: new Appender((n) => (n === 0 ? clientFor(url) : anotherClientFor(url, n)), timing),
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
  await opened.reading.close();
}
