import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type MessagePort } from 'node:worker_threads';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { joinLog, type LogTicket, openLog } from './embedded/log/open-log';
import { openEmbeddedStore } from './embedded/store/open-store';

/** Which engines, and where. The two choices are independent of each other. */
export interface EngineSettings {
  /** Folder of the embedded engines' files; it is made when it is not there. */
  readonly dataDir: string;
  /** URL of the event log: `sqlite:` keeps it in the data folder. */
  readonly eventLog: string;
  /** URL of the read store: `sqlite:` keeps it in the data folder. */
  readonly readStore: string;
  /** Let threads of their own append to the log and answer queries; needs compiled code. */
  readonly threads: boolean;
  /** How many threads answer queries (default 2). */
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
  readonly log: LogTicket;
  readonly ports: readonly MessagePort[];
}

/** A setting names an engine that there is not. */
export class UnknownEngine extends Error {
  override readonly name = 'UnknownEngine';
}

const READERS = 2;

/** Opens what the settings name. Raises `UnknownEngine`, `EngineUnavailable`. */
export async function openEngines(settings: EngineSettings): Promise<Engines> {
  refuseUnknown('EVENT_LOG', settings.eventLog);
  refuseUnknown('READ_STORE', settings.readStore);
  await makeFolder(settings.dataDir);
  const { log, ticket } = await openLog(join(settings.dataDir, 'log.sqlite'), settings.threads);
  try {
    const { threads, readers = READERS } = settings;
    const store = openEmbeddedStore({ directory: storeFolder(settings), threads, readers });
    return enginesOf(settings, log, store, ticket);
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Opens in a worker thread what its ticket is for. */
export async function joinEngines({ settings, log }: EngineTicket): Promise<Engines> {
  const joined = joinLog(log);
  const store = openEmbeddedStore({ directory: storeFolder(settings), threads: false, readers: 0 });
  return enginesOf({ ...settings, threads: false }, joined, store, () => ({ file: log.file }));
}

function enginesOf(
  settings: EngineSettings,
  log: EventLog,
  store: ReadStore,
  logTicket: () => LogTicket,
): Engines {
  return {
    log,
    store,
    ticket() {
      const ticket = logTicket();
      return { settings, log: ticket, ports: ticket.port === undefined ? [] : [ticket.port] };
    },
    async close() {
      await store.close();
      await log.close();
    },
  };
}

function refuseUnknown(setting: string, url: string): void {
  if (url !== 'sqlite:') throw new UnknownEngine(`${setting}: "${url}" is no engine; accepted is: sqlite:`);
}

function storeFolder({ dataDir }: EngineSettings): string {
  return join(dataDir, 'read');
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new EngineUnavailable('the data folder cannot be made', { cause: error });
  });
}
