import { join } from 'node:path';
import { type MessagePort } from 'node:worker_threads';
import { NamedError } from '../kernel/fault';
import { type EventLog, type ExpiringLog } from '../kernel/event-log';
import { type IsGone, type Lease, Leases } from '../kernel/leases';
import { type ReadStore } from '../kernel/read-store';
import { type OnRetry, UnusableUrl } from '../runtime/unavailable';
import { exists, makeDataFolder, namingPath, refuseUnfinishedImport, requireWritable } from './data-folder';
import { LeaseFile, PRESENCE_FOLDER } from './embedded/leases';
import {
  copyDeliveryLog,
  joinDeliveryLog,
  joinLog,
  type LogTicket,
  openDeliveryCopy,
  openDeliveryLog,
  openLog,
} from './embedded/log/open-log';
import { layoutFolder } from './embedded/store/registry';
import { openEmbeddedStore } from './embedded/store/open-store';
import { traced } from '../runtime/tracing';

/** Which engines to use, and where. The two choices are independent. */
export interface EngineSettings {
  /** Folder for the files of the embedded engines; created if needed. */
  readonly dataDir: string;
  /** URL of the event log: `sqlite:` for the data folder, or `esdb://…` for EventStoreDB. */
  readonly eventLog: string;
  /** URL of the read store: `sqlite:` for the data folder, or `http(s)://…` for Elasticsearch. */
  readonly readStore: string;
  /** API key for Elasticsearch. */
  readonly readStoreApiKey?: string;
  /** Use worker threads for the embedded engines; needs compiled code. */
  readonly threads: boolean;
  /**
   * Number of threads for queries of the embedded store (default 2). With 0, one thread writes large batches instead.
   */
  readonly readers?: number;
  /** Bytes of search indexes that the embedded store caches (32 MB). */
  readonly searchCache?: number;
  /** Open the engines to continue an import, which otherwise is refused. */
  readonly importing?: boolean;
  /** Start the thread for large batches at once, not with the first one. */
  readonly startEarly?: boolean;
}

export interface Engines {
  readonly log: EventLog;
  readonly store: ReadStore;
  /**
   * The log of deliveries, opened when it is first needed. Tickets that are issued later share its thread. Raises
   * `EngineUnavailable`; a later call tries again.
   */
  readonly deliveries: () => Promise<ExpiringLog>;
  /** Of the processes that work on the log. */
  readonly leases: Leases;
  /**
   * Keeps what the log needs to be read from its start quickly, until the signal aborts: an index of
   * `REFERENCE_STREAMS`, unless the engine has one itself. Several processes may, at least one should.
   */
  readonly keepIndex: (signal: AbortSignal) => Promise<void>;
  /** Issues a ticket, to be sent to a worker thread with `ports` in the transfer list, for `joinEngines`. */
  readonly ticket: () => EngineTicket;
  close(): Promise<void>;
}

/** Lets one thread open the same engines. Can be sent once. */
export interface EngineTicket {
  readonly settings: EngineSettings;
  /** The ticket of the embedded log. */
  readonly log: LogTicket | undefined;
  /** The ticket of the embedded log of deliveries; without one, the thread opens it on its own. */
  readonly deliveries: LogTicket | undefined;
  readonly ports: readonly MessagePort[];
}

/** A setting names an unknown engine, or a URL that cannot be used. */
export class UnknownEngine extends NamedError {}

const DEFAULT_READERS = 2;

/** A log, which may need an index. */
type ServedLog = EventLog & { keepIndex?(signal: AbortSignal): Promise<void> };

/** The logs of a process or thread. */
interface Logs {
  readonly log: ServedLog;
  readonly ticket: () => LogTicket | undefined;
  readonly deliveries: OpenedOnce<OpenedDeliveries>;
}

interface OpenedDeliveries {
  readonly log: ExpiringLog;
  /** Issues a ticket for one more thread, if the log is an embedded one with a thread of its own. */
  readonly ticket?: () => LogTicket;
}

/** The kinds of the engines, for the log: URLs may contain passwords. */
export function enginesOf({ eventLog, readStore }: Pick<EngineSettings, 'eventLog' | 'readStore'>): {
  readonly eventLog: string;
  readonly readStore: string;
} {
  return {
    eventLog: eventLog === 'sqlite:' ? 'SQLite' : 'EventStoreDB',
    readStore: readStore === 'sqlite:' ? 'SQLite' : 'Elasticsearch',
  };
}

/**
 * Opens the engines of the settings. `onRetry` receives failures of servers that are retried, now or later; `signal`
 * ends waiting for a server. Raises `UnknownEngine`, `UnfinishedImport`, the reason of `signal`, and
 * `EngineUnavailable`: with a `cause` that has a `path` if the data folder or a file in it cannot be used.
 */
export async function openEngines(
  settings: EngineSettings,
  onRetry?: OnRetry,
  signal?: AbortSignal,
): Promise<Engines> {
  const { eventLog, readStore, dataDir, threads } = settings;
  await makeDataFolder(dataDir);
  if ([eventLog, readStore].includes('sqlite:')) await requireWritable(dataDir);
  if (settings.importing !== true) await refuseUnfinishedImport(dataDir);
  const deliveries = new OpenedOnce(() => openDeliveries(settings, onRetry));
  if (eventLog === 'sqlite:') {
    const file = join(dataDir, 'log.sqlite');
    const { log, ticket } = await namingPath(file, () => openLog(file, threads));
    return await withStore(settings, { log: traced(log), ticket, deliveries }, onRetry);
  }
  const log = await unlessAborted(openServerLog(eventLog, 'EVENT_LOG', onRetry), signal);
  return await withStore(settings, { log: traced(log), ticket: () => undefined, deliveries }, onRetry);
}

/** Opens the engines of a ticket in a worker thread. With `writes`, a further thread writes large batches. */
export async function joinEngines(
  { settings, log, deliveries }: EngineTicket,
  { writes = false }: { readonly writes?: boolean } = {},
): Promise<Engines> {
  const joined: ServedLog =
    log === undefined ? await openServerLog(settings.eventLog, 'EVENT_LOG') : joinLog(log);
  const ticket = log === undefined ? undefined : { file: log.file, kind: log.kind };
  const logs = {
    log: traced(joined),
    ticket: () => ticket,
    deliveries: new OpenedOnce<OpenedDeliveries>(async () =>
      deliveries === undefined
        ? await openDeliveries({ ...settings, threads: false })
        : { log: joinDeliveryLog(deliveries) },
    ),
  };
  const threads = settings.threads && writes;
  return await withStore({ ...settings, threads, readers: 0, startEarly: true }, logs);
}

/** Raises the reason of `signal` when it aborts; what is opened after that is closed again. */
async function unlessAborted(
  opening: Promise<ServedLog>,
  signal: AbortSignal | undefined,
): Promise<ServedLog> {
  if (signal === undefined) return await opening;
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    // While the data folder was checked it may have aborted.
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([opening, aborted]);
  } catch (error) {
    opening.then((log) => log.close()).catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Opens just a log, in this thread. `setting` is named in errors; `importing` opens one with an unfinished import or
 * copy, to continue it. Otherwise as `openEngines`.
 */
export async function openLogAt(
  url: string,
  dataDir: string,
  setting: string,
  onRetry?: OnRetry,
  { importing = false }: Pick<EngineSettings, 'importing'> = {},
): Promise<EventLog> {
  if (url !== 'sqlite:') return await openServerLog(url, setting, onRetry);
  await makeDataFolder(dataDir);
  await requireWritable(dataDir);
  if (!importing) await refuseUnfinishedImport(dataDir);
  const file = join(dataDir, 'log.sqlite');
  return (await namingPath(file, () => openLog(file, false))).log;
}

async function withStore(
  settings: EngineSettings,
  { log, ticket, deliveries }: Logs,
  onRetry?: OnRetry,
): Promise<Engines> {
  try {
    const store = await openStore(settings, onRetry);
    const leases = openLeases(settings, onRetry);
    return {
      log,
      store,
      deliveries: async () => (await deliveries.open()).log,
      leases,
      keepIndex: async (signal) => log.keepIndex?.(signal),
      ticket() {
        const tickets = [ticket(), deliveries.opened?.ticket?.()] as const;
        const ports = tickets.flatMap((one) => one?.port ?? []);
        return { settings, log: tickets[0], deliveries: tickets[1], ports };
      },
      async close() {
        await store.close();
        await deliveries.close(({ log: opened }) => opened.close());
        await leases.close();
        await log.close();
      },
    };
  } catch (error) {
    await log.close();
    throw error;
  }
}

async function openDeliveries(
  { eventLog, dataDir, threads }: EngineSettings,
  onRetry?: OnRetry,
): Promise<OpenedDeliveries> {
  if (eventLog !== 'sqlite:') return { log: await openServerDeliveries(eventLog, onRetry) };
  const file = join(dataDir, DELIVERIES_FILE);
  return await namingPath(file, () => openDeliveryLog(file, threads));
}

async function openServerDeliveries(url: string, onRetry?: OnRetry): Promise<ExpiringLog> {
  const { openEventStoreDeliveries } = await import('./eventstoredb/open-event-store-db.js');
  return await openEventStoreDeliveries(url, undefined, onRetry).catch((error: unknown) =>
    refuse('EVENT_LOG', error),
  );
}

/** The file of the embedded delivery log in a data folder. */
export const DELIVERIES_FILE = 'deliveries.sqlite';

/**
 * Copies the embedded delivery log of a data folder, which may be in use, to a new file, and reads that. False if there
 * is none. Raises `EngineUnavailable`.
 */
export async function copyDeliveriesTo(to: string, dataDir: string, signal?: AbortSignal): Promise<boolean> {
  const from = join(dataDir, DELIVERIES_FILE);
  if (!(await exists(from))) return false;
  await copyDeliveryLog(from, to, signal);
  return true;
}

/** Opens such a file, which nobody writes, for reading. Its methods raise `EngineUnavailable` if it is damaged. */
export function openCopiedDeliveries(file: string): EventLog {
  return openDeliveryCopy(file);
}

/** Leases of the processes that work on a log. */
export function openLeases(
  { eventLog, dataDir }: Pick<EngineSettings, 'eventLog' | 'dataDir'>,
  onRetry?: OnRetry,
): Leases {
  if (eventLog === 'sqlite:') return new LeaseFile(join(dataDir, PRESENCE_FOLDER, 'leases.sqlite'));
  return new LazyLeases(async () => {
    const { openEventStoreLeases } = await import('./eventstoredb/open-event-store-db.js');
    return await openEventStoreLeases(eventLog, undefined, onRetry);
  });
}

/** Client libraries are imported lazily, since they take longer to load than everything else. */
async function openServerLog(url: string, setting: string, onRetry?: OnRetry): Promise<ServedLog> {
  if (!/^esdb(\+discover)?:\/\//.test(url)) throw unknown(setting, 'sqlite:, esdb://…');
  const { openEventStoreDb } = await import('./eventstoredb/open-event-store-db.js');
  return await openEventStoreDb(url, undefined, onRetry).catch((error: unknown) => refuse(setting, error));
}

async function openStore(
  { readStore, readStoreApiKey, ...settings }: EngineSettings,
  onRetry?: OnRetry,
): Promise<ReadStore> {
  if (readStore === 'sqlite:') {
    const { dataDir, threads, readers = DEFAULT_READERS, startEarly = false, searchCache } = settings;
    const directory = layoutFolder(join(dataDir, 'read'));
    return await namingPath(directory, async () =>
      openEmbeddedStore({ directory, threads, readers, startEarly, cacheBytes: searchCache }),
    );
  }
  if (!/^https?:\/\//.test(readStore)) throw unknown('READ_STORE', 'sqlite:, http://…, https://…');
  const { openElasticsearch } = await import('./elasticsearch/open-store.js');
  try {
    return openElasticsearch(readStore, {
      ...(readStoreApiKey === undefined ? {} : { apiKey: readStoreApiKey }),
      ...(onRetry === undefined ? {} : { notices: { onRetry } }),
    });
  } catch (error) {
    refuse('READ_STORE', error);
  }
}

/** Omits the URL, which may contain a password. */
function unknown(setting: string, expected: string): UnknownEngine {
  return new UnknownEngine(`${setting} names an unknown engine; expected one of: ${expected}`);
}

/** Adds the name of the setting, which engines do not know. */
function refuse(setting: string, error: unknown): never {
  throw error instanceof UnusableUrl ? new UnknownEngine(`${setting}: ${error.message}`) : error;
}

/** Leases that are opened when they are first needed: most processes and threads never need them. */
class LazyLeases extends Leases {
  readonly #leases: OpenedOnce<Leases>;

  constructor(open: () => Promise<Leases>) {
    super();
    this.#leases = new OpenedOnce(open);
  }

  async lease(...args: Parameters<Leases['lease']>): Promise<Lease | undefined> {
    return await (await this.#leases.open()).lease(...args);
  }

  async owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    return await (await this.#leases.open()).owners(prefix, now, ttl, isGone);
  }

  async release(lease: Lease): Promise<void> {
    await (await this.#leases.open()).release(lease);
  }

  async close(): Promise<void> {
    await this.#leases.close((leases) => leases.close());
  }
}

/** Something that is opened once, when it is first needed, and may be closed. */
class OpenedOnce<Opened> {
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;

  constructor(private readonly openOnce: () => Promise<Opened>) {}

  /** Raises `EngineUnavailable`; the next call tries again. */
  async open(): Promise<Opened> {
    const opening = (this.#opening ??= this.openOnce());
    try {
      return (this.#opened = await opening);
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /** Undefined until it is open. */
  get opened(): Opened | undefined {
    return this.#opened;
  }

  /** Waits if it is being opened. */
  async close(close: (opened: Opened) => Promise<void>): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    if (opened !== undefined) await close(opened);
  }
}
