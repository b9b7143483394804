import { setMaxListeners } from 'node:events';
import { type ExpiringLog } from '../../kernel/event-log';
import { type Leases } from '../../kernel/leases';
import { type Clock, SYSTEM_CLOCK } from '../../runtime/clock';
import { noticingDelay, type OnRetry, SILENCE_MS } from '../../runtime/unavailable';
import { Appender } from './appender';
import { EventStoreLog, type Shared } from './event-store-log';
import { LogHead, Tail } from './tail';
import { LogLeases } from './log-leases';
import { Readers } from './stream-reads';
import { readMark } from './reference-index';
import { metadataIn, Namespace, type SentEvent } from './sent-event';

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
export async function openEventStoreDb(
  url: string,
  timing = TIMING,
  onRetry?: OnRetry,
): Promise<EventStoreLog> {
  return await openIn(Namespace.domain, EventStoreLog, { url, timing, onRetry });
}

/** Opens the delivery log in EventStoreDB, as `openEventStoreDb` does that of the domain. */
export async function openEventStoreDeliveries(
  url: string,
  timing = TIMING,
  onRetry?: OnRetry,
): Promise<ExpiringLog> {
  return await openIn(Namespace.deliveries, EventStoreDeliveries, { url, timing, onRetry });
}

/** Opens the leases of the processes that work on the log in EventStoreDB, as `openEventStoreDb` does that log. */
export async function openEventStoreLeases(
  url: string,
  timing = TIMING,
  onRetry?: OnRetry,
  clock?: Clock,
): Promise<Leases> {
  return new LogLeases(await openIn(Namespace.leases, EventStoreLeaseLog, { url, timing, onRetry }), clock);
}

async function openIn<Log extends EventStoreLog>(
  namespace: Namespace,
  Kind: new (...args: ConstructorParameters<typeof EventStoreLog>) => Log,
  { url, timing, onRetry }: { url: string; timing: Timing; onRetry: OnRetry | undefined },
): Promise<Log> {
  const key = `${namespace.prefix} ${url}`;
  const shared = opened.get(key) ?? open(url, namespace, timing);
  opened.set(key, shared);
  shared.users += 1;
  let isSilent = true;
  const report = (failure: string): void => {
    isSilent = false;
    onRetry?.(failure);
  };
  const log = new Kind(shared, timing.retryMs, () => release(key, shared), report);
  try {
    await noticingDelay(SYSTEM_CLOCK, log.checkServer(), timing.silenceMs ?? SILENCE_MS, () => {
      if (isSilent) report('the event log is not available: it has not answered yet');
    });
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

function open(url: string, namespace: Namespace, timing: Timing): SharedConnections {
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const readers = new Readers(url, timing.timeoutMs);
  const isIndexed = namespace === Namespace.domain;
  const findKnown = isIndexed ? () => readMark(readers, namespace, signal) : undefined;
  const head = new LogHead(readers, namespace, signal, findKnown);
  const tail = new Tail(readers, namespace, head, signal);
  const appender = new Appender(url, timing, namespace.log);
  return { namespace, readers, appender, head, tail, isIndexed, closing, users: 0 };
}

async function release(key: string, shared: SharedConnections): Promise<void> {
  shared.users -= 1;
  if (shared.users > 0) return;
  if (opened.get(key) === shared) opened.delete(key);
  shared.closing.abort();
  await shared.appender.close();
  shared.readers.close();
}

/** The events of a stream that can be read. */
interface Extent {
  readonly first: SentEvent;
  readonly last: SentEvent;
}

/**
 * The delivery log in EventStoreDB. What is expired is truncated: the server no longer returns it in reads of the
 * stream, and deletes it from its files when it is scavenged. Not `$maxAge`, which would also hide the last event of a
 * stream, and with it how far the matcher has come.
 */
class EventStoreDeliveries extends EventStoreLog implements ExpiringLog {
  async expire(before: Date, streams: readonly string[]): Promise<void> {
    for (const stream of streams) await this.#truncate(this.serverName(stream), before.getTime());
  }

  async #truncate(name: string, before: number): Promise<void> {
    const extent = await this.#extentOf(name);
    if (extent === undefined || extent.first.created >= before) return;
    const revision = await this.#firstSince(name, extent, before);
    if (revision <= extent.first.revision) return;
    const metadata = await this.eventIn(`$$${name}`, 'last');
    // If another process was faster, or an operator has changed the metadata, the next time will do.
    await this.setMetadata(name, { ...metadataIn(metadata), $tb: revision }, metadata?.revision);
  }

  /** The first revision that is not older, at most the last one. */
  async #firstSince(name: string, { first, last }: Extent, before: number): Promise<number> {
    let [low, high] = [first.revision, last.revision];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const event = await this.eventIn(name, middle);
      if (event === undefined || event.created < before) low = (event?.revision ?? middle) + 1;
      else high = middle;
    }
    return Math.min(low, last.revision);
  }

  async #extentOf(name: string): Promise<Extent | undefined> {
    const first = await this.eventIn(name, 0);
    const last = await this.eventIn(name, 'last');
    return first === undefined || last === undefined ? undefined : { first, last };
  }
}

class EventStoreLeaseLog extends EventStoreLog {
  /** Sets the metadata of a stream, unless it has some. */
  async describe(stream: string, metadata: object): Promise<void> {
    await this.setMetadata(this.serverName(stream), metadata);
  }
}
