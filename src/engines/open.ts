import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type MessagePort } from 'node:worker_threads';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { joinLog, type LogTicket, openLog } from './embedded/log/open-log';
import { openEmbeddedStore } from './embedded/store/open-store';
import { type EsdbEndpoint, type EsdbOptions } from './esdb-endpoint/serve-esdb';
import { UnusableUrl } from '../kernel/unavailable';

export { type EsdbEndpoint };

/** Which engines to use, and where. The two choices are independent. */
export interface EngineSettings {
  /** Folder for the files of the embedded engines; created if needed. */
  readonly dataDir: string;
  /** URL of the event log: `sqlite:` for the data folder, or `esdb://…` for EventStoreDB. */
  readonly eventLog: string;
  /** URL of the read store: `sqlite:` for the data folder, or `http(s)://…` for Elasticsearch. */
  readonly readStore: string;
  /** API key for Elasticsearch. */
  readonly readStoreKey?: string;
  /** Use worker threads for the embedded engines; needs compiled code. */
  readonly threads: boolean;
  /** Number of threads for queries of the embedded store (default 2). With 0, one thread writes large batches instead. */
  readonly readers?: number;
  /** Start the thread for large batches at once, not with the first one. */
  readonly startEarly?: boolean;
}

export interface Engines {
  readonly log: EventLog;
  readonly store: ReadStore;
  /** Issues a ticket, to be sent to a worker thread with `ports` in the transfer list, for `joinEngines`. */
  readonly ticket: () => EngineTicket;
  close(): Promise<void>;
}

/** Lets one thread open the same engines. Can be sent once. */
export interface EngineTicket {
  readonly settings: EngineSettings;
  /** The ticket of the embedded log. */
  readonly log: LogTicket | undefined;
  readonly ports: readonly MessagePort[];
}

/** A setting names an unknown engine, or a URL that cannot be used. */
export class UnknownEngine extends Error {
  override readonly name = 'UnknownEngine';
}

const DEFAULT_READERS = 2;

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

/** Opens the engines of the settings. Raises `UnknownEngine`, `EngineUnavailable`. */
export async function openEngines(settings: EngineSettings): Promise<Engines> {
  await makeFolder(settings.dataDir);
  const { eventLog, dataDir, threads } = settings;
  if (eventLog === 'sqlite:') {
    const { log, ticket } = await openLog(join(dataDir, 'log.sqlite'), threads);
    return await withStore(settings, log, ticket);
  }
  return await withStore(settings, await openServerLog(eventLog, 'EVENT_LOG'), () => undefined);
}

/** Opens the engines of a ticket in a worker thread. With `writes`, a further thread writes large batches. */
export async function joinEngines(
  { settings, log }: EngineTicket,
  { writes = false }: { readonly writes?: boolean } = {},
): Promise<Engines> {
  const joined = log === undefined ? await openServerLog(settings.eventLog, 'EVENT_LOG') : joinLog(log);
  const ticket = log === undefined ? undefined : { file: log.file };
  const threads = settings.threads && writes;
  return await withStore({ ...settings, threads, readers: 0, startEarly: true }, joined, () => ticket);
}

/** Opens just a log, in this thread. `setting` is named in errors. Raises `UnknownEngine`, `EngineUnavailable`. */
export async function openLogAt(url: string, dataDir: string, setting: string): Promise<EventLog> {
  if (url !== 'sqlite:') return await openServerLog(url, setting);
  await makeFolder(dataDir);
  return (await openLog(join(dataDir, 'log.sqlite'), false)).log;
}

/** Serves a log to clients of EventStoreDB. Raises `EngineUnavailable` if it cannot listen. */
export async function serveLog(log: EventLog, options: EsdbOptions): Promise<EsdbEndpoint> {
  const { serveEsdb } = await import('./esdb-endpoint/serve-esdb.js');
  return await serveEsdb(log, options);
}

async function withStore(
  settings: EngineSettings,
  log: EventLog,
  logTicket: () => LogTicket | undefined,
): Promise<Engines> {
  try {
    const store = await openStore(settings);
    return {
      log,
      store,
      ticket() {
        const ticket = logTicket();
        return { settings, log: ticket, ports: ticket?.port === undefined ? [] : [ticket.port] };
      },
      async close() {
        await store.close();
        await log.close();
      },
    };
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Client libraries are imported lazily, since they take longer to load than everything else. */
async function openServerLog(url: string, setting: string): Promise<EventLog> {
  if (!/^esdb(\+discover)?:\/\//.test(url)) throw unknown(setting, 'sqlite:, esdb://…');
  const { openEventStoreDb } = await import('./eventstoredb/open-event-store-db.js');
  return await openEventStoreDb(url).catch((error: unknown) => refuse(setting, error));
}

async function openStore({ readStore, readStoreKey, ...settings }: EngineSettings): Promise<ReadStore> {
  if (readStore === 'sqlite:') {
    const { dataDir, threads, readers = DEFAULT_READERS, startEarly = false } = settings;
    return openEmbeddedStore({ directory: join(dataDir, 'read'), threads, readers, startEarly });
  }
  if (!/^https?:\/\//.test(readStore)) throw unknown('READ_STORE', 'sqlite:, http://…, https://…');
  const { openElasticsearch } = await import('./elasticsearch/open-store.js');
  try {
    return openElasticsearch(readStore, readStoreKey === undefined ? {} : { apiKey: readStoreKey });
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

/** Not `mkdir` with `recursive`: in a pseudo file system such as `/proc`, Node.js 20 loops forever. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await makeWithParents(folder);
  } catch (error) {
    throw new EngineUnavailable('the data folder cannot be created', { cause: error });
  }
}

async function makeWithParents(folder: string): Promise<void> {
  if (await exists(folder)) return;
  await makeWithParents(dirname(folder));
  await mkdir(folder).catch(async (error: unknown) => {
    if (!(await exists(folder))) throw error;
  });
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
