import { openLog } from '../../src/engines/embedded/log/open-log';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { type EventLog } from '../../src/kernel/event-log';
import { startEsdbServer } from './esdb-server';
import { logFolder } from './log-folder';

/** A log that several processes have open, by the name that these open it by. */
export interface SharedLog {
  readonly log: EventLog;
  readonly where: string;
  readonly close: () => Promise<void>;
}

/** By engine. */
export const SHARED_LOGS: Readonly<Record<string, () => Promise<SharedLog>>> = {
  SQLite: async () => {
    const { file, remove } = await logFolder();
    const { log } = await openLog(file, false);
    return { log, where: file, close: () => log.close().then(remove) };
  },
  EventStoreDB: async () => {
    const { url, stop } = await startEsdbServer();
    const log = await openEventStoreDb(url);
    return { log, where: url, close: () => log.close().then(stop) };
  },
};
