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

/** Which engines, and where. The two choices are independent of each other. */
export interface EngineSettings {
  /** Folder of the embedded engines' files; it is made when it is not there. */
  readonly dataDir: string;
  /** URL of the event log: `sqlite:` keeps it in the data folder, `esdb://…` in an EventStoreDB. */
  readonly eventLog: string;
  /** URL of the read store: `sqlite:` keeps it in the data folder, `http(s)://…` in an Elasticsearch. */
  readonly readStore: string;
  /** API key of an Elasticsearch. */
  readonly readStoreKey?: string;
  /** Let threads of their own work for the embedded engines; needs compiled code. */
  readonly threads: boolean;
  /** How many threads answer queries of the embedded store (default 2); with none, one writes large batches. */
  readonly readers?: number;
}

export interface Engines {
  readonly log: EventLog;
  readonly store: ReadStore;
  /** What a worker thread is sent, with `ports` in the transfer list, to open the same by `joinEngines`. */
  readonly ticket: () => EngineTicket;
  close(): Promise<void>;
}

/** May be sent to one thread, once. */
export interface EngineTicket {
  readonly settings: EngineSettings;
  /** Of the embedded log. */
  readonly log: LogTicket | undefined;
  readonly ports: readonly MessagePort[];
}

/** A setting names an engine that there is not, or none that could be used. */
export class UnknownEngine extends Error {
  override readonly name = 'UnknownEngine';
}

const READERS = 2;

/** Opens what the settings name. Raises `UnknownEngine`, `EngineUnavailable`. */
export async function openEngines(settings: EngineSettings): Promise<Engines> {
  await makeFolder(settings.dataDir);
  const { eventLog, dataDir, threads } = settings;
  if (eventLog === 'sqlite:') {
    const { log, ticket } = await openLog(join(dataDir, 'log.sqlite'), threads);
    return await withStore(settings, log, ticket);
  }
  return await withStore(settings, await openServerLog(eventLog, 'EVENT_LOG'), () => undefined);
}

/** Opens in a worker thread what its ticket is for: it asks little and may write much. */
export async function joinEngines({ settings, log }: EngineTicket): Promise<Engines> {
  const joined = log === undefined ? await openServerLog(settings.eventLog, 'EVENT_LOG') : joinLog(log);
  const ticket = log === undefined ? undefined : { file: log.file };
  return await withStore({ ...settings, readers: 0 }, joined, () => ticket);
}

/** Opens a log alone, in this thread; `setting` has named it. Raises `UnknownEngine`, `EngineUnavailable`. */
export async function openLogAt(url: string, dataDir: string, setting: string): Promise<EventLog> {
  if (url !== 'sqlite:') return await openServerLog(url, setting);
  await makeFolder(dataDir);
  return (await openLog(join(dataDir, 'log.sqlite'), false)).log;
}

/** Offers a log to clients of EventStoreDB. Raises `EngineUnavailable` when it cannot listen. */
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

/** The clients of servers are loaded where they are used: they take longer to load than all else. */
async function openServerLog(url: string, setting: string): Promise<EventLog> {
  if (!/^esdb(\+discover)?:\/\//.test(url)) throw unknown(setting, 'sqlite:, esdb://…');
  const { openEventStoreDb } = await import('./eventstoredb/open-event-store-db.js');
  return await openEventStoreDb(url).catch((error: unknown) => refuse(setting, error));
}

async function openStore({ readStore, readStoreKey, ...settings }: EngineSettings): Promise<ReadStore> {
  if (readStore === 'sqlite:') {
    const { dataDir, threads, readers = READERS } = settings;
    return openEmbeddedStore({ directory: join(dataDir, 'read'), threads, readers });
  }
  if (!/^https?:\/\//.test(readStore)) throw unknown('READ_STORE', 'sqlite:, http://…, https://…');
  const { openElasticsearch } = await import('./elasticsearch/open-store.js');
  try {
    return openElasticsearch(readStore, readStoreKey === undefined ? {} : { apiKey: readStoreKey });
  } catch (error) {
    refuse('READ_STORE', error);
  }
}

/** Without the URL: it may hold a password. */
function unknown(setting: string, accepted: string): UnknownEngine {
  return new UnknownEngine(`${setting} names no engine that there is; expected one of: ${accepted}`);
}

/** Engines do not know which setting their URL comes from. */
function refuse(setting: string, error: unknown): never {
  throw error instanceof UnusableUrl ? new UnknownEngine(`${setting}: ${error.message}`) : error;
}

/** By hand: asked for all of a path at once, Node.js 20 goes round for ever in a pseudo file system such as `/proc`. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await makeWithParents(folder);
  } catch (error) {
    throw new EngineUnavailable('the data folder cannot be made', { cause: error });
  }
}

async function makeWithParents(folder: string): Promise<void> {
  if (await isThere(folder)) return;
  await makeWithParents(dirname(folder));
  await mkdir(folder).catch(async (error: unknown) => {
    if (!(await isThere(folder))) throw error;
  });
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
