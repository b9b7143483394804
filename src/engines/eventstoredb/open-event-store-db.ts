import { setMaxListeners } from 'node:events';
import { type EventLog } from '../../kernel/event-log';
import { noticingDelay, type OnRetry, SILENCE_MS } from '../../kernel/unavailable';
import { Appender } from './appender';
import { EventStoreLog, type Shared } from './event-store-log';
import { Head } from './head';
import { Readers } from './readers';
import { Tail } from './tail';

interface Timing {
  /** Time-out (ms) of a request; afterwards the connection is considered broken. */
  readonly timeoutMs: number;
  /** How long (ms) a failing server is retried before `EngineUnavailable` is raised. */
  readonly retryMs: number;
  /** How long (ms) a server may be silent at the start before `onRetry` is called: `SILENCE_MS`. */
  readonly silenceMs?: number;
}

/** gRPC detects a dead connection within 20 s: it pings after 10 s and waits 10 s for an answer. */
const TIMING: Timing = { timeoutMs: 10_000, retryMs: 30_000 };

interface SharedConnections extends Shared {
  readonly closing: AbortController;
  users: number;
}

const opened = new Map<string, SharedConnections>();

/**
 * Opens the event log in EventStoreDB, at an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`, and
 * `EngineUnavailable` if the server does not answer or is too old. Each thread opens its own.
 * `onRetry` is called for each failure that is retried, and when the server is silent at the start.
 */
export async function openEventStoreDb(url: string, timing = TIMING, onRetry?: OnRetry): Promise<EventLog> {
  const shared = opened.get(url) ?? open(url, timing);
  opened.set(url, shared);
  shared.users += 1;
  let isSilent = true;
  const report = (failure: string): void => {
    isSilent = false;
    onRetry?.(failure);
  };
  const log = new EventStoreLog(shared, timing.retryMs, () => release(url, shared), report);
  try {
    await noticingDelay(log.checkServer(), timing.silenceMs ?? SILENCE_MS, () => {
      if (isSilent) report('the event log is not available: it has not answered yet');
    });
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

function open(url: string, timing: Timing): SharedConnections {
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const readers = new Readers(url, timing.timeoutMs);
  const head = new Head(readers, signal);
  const tail = new Tail(readers, head, signal);
  return { readers, appender: new Appender(url, timing), head, tail, closing, users: 0 };
}

async function release(url: string, shared: SharedConnections): Promise<void> {
  shared.users -= 1;
  if (shared.users > 0) return;
  if (opened.get(url) === shared) opened.delete(url);
  shared.closing.abort();
  await shared.appender.close();
  shared.readers.close();
}
