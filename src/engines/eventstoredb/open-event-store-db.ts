import { setMaxListeners } from 'node:events';
import { type EventLog } from '../../kernel/event-log';
import { Appender } from './appender';
import { EventStoreLog, type Shared } from './event-store-log';
import { Head } from './head';
import { Readers } from './readers';
import { Tail } from './tail';

interface Timing {
  /** For how long nothing may come of what is asked for, until the connection is thought broken (ms). */
  readonly silence: number;
  /** For how long a server that fails is tried, until `EngineUnavailable` is raised (ms). */
  readonly patience: number;
}

/** gRPC finds out that a connection is dead within 20 s: it asks after 10 s, and waits 10 s for an answer. */
const TIMING: Timing = { silence: 10_000, patience: 30_000 };

interface Opened extends Shared {
  readonly closing: AbortController;
  users: number;
}

const opened = new Map<string, Opened>();

/**
 * The log in an EventStoreDB, at an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`, and
 * `EngineUnavailable` when the server does not answer or is too old. Each thread opens its own.
 */
export async function openEventStoreDb(url: string, timing = TIMING): Promise<EventLog> {
  const shared = opened.get(url) ?? open(url, timing);
  opened.set(url, shared);
  shared.users += 1;
  const log = new EventStoreLog(shared, timing.patience, () => release(url, shared));
  try {
    await log.checkServer();
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

function open(url: string, timing: Timing): Opened {
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const readers = new Readers(url, timing.silence);
  const head = new Head(readers, signal);
  const tail = new Tail(readers, head, signal);
  return { readers, appender: new Appender(url, timing), head, tail, closing, users: 0 };
}

async function release(url: string, shared: Opened): Promise<void> {
  shared.users -= 1;
  if (shared.users > 0) return;
  if (opened.get(url) === shared) opened.delete(url);
  shared.closing.abort();
  await shared.appender.close();
  shared.readers.close();
}
