import { join } from 'node:path';
import { type SettingName } from '../../src/settings';

/** The engines that tests of the application run over: set by a jest configuration (`test/servers/`), by default SQLite. */
export interface TestedEngines {
  readonly log: 'sqlite' | 'eventstoredb';
  readonly store: 'sqlite' | 'elasticsearch';
}

const SQLITE: TestedEngines = { log: 'sqlite', store: 'sqlite' };

function tested(): TestedEngines {
  return (globalThis as { engines?: TestedEngines }).engines ?? SQLITE;
}

/** Requests are slower over servers, so tests that do not depend on engines may try fewer cases. */
export const OVER_SERVERS = Object.values(tested()).some((engine) => engine !== 'sqlite');

/** The number of random cases to try: a third over servers, as each of the three pairs of engines tries different ones. */
export function randomCases(all: number): number {
  return OVER_SERVERS ? Math.ceil(all / 3) : all;
}

/** A log and a store for one test: the settings that name them, and a function to remove them after they are closed. */
export interface IsolatedEngines {
  readonly settings: Readonly<Partial<Record<SettingName, string>>>;
  readonly remove: () => Promise<void>;
}

/**
 * Engines for an application with this data folder. EventStoreDB is the real client against our own endpoint, over a log in the
 * folder.
 */
export async function isolatedEngines(
  dataDir: string,
  { log, store }: TestedEngines = tested(),
): Promise<IsolatedEngines> {
  const server = log === 'sqlite' ? undefined : await servedLog(join(dataDir, 'served.sqlite'));
  const search = store === 'sqlite' ? undefined : await servedStore();
  return {
    settings: {
      ...(server === undefined ? {} : { EVENT_LOG: server.url }),
      ...(search === undefined ? {} : { READ_STORE: search.url }),
    },
    remove: async () => {
      await server?.close();
      await search?.remove();
    },
  };
}

// Imported lazily, since clients and protocols of servers take long to load.

async function servedStore(): Promise<{ url: string; remove: () => Promise<void> }> {
  const { ownStore } = await import('../servers/server.js');
  return ownStore();
}

async function servedLog(file: string): Promise<{ url: string; close: () => Promise<void> }> {
  const { openLog } = await import('../../src/engines/embedded/log/open-log.js');
  const { serveWritable } = await import('./esdb-writing/serve-writable.js');
  const { log } = await openLog(file, false);
  const endpoint = await serveWritable(log, { host: '127.0.0.1', port: 0 });
  return {
    url: endpoint.url,
    close: async () => {
      await endpoint.close();
      await log.close();
    },
  };
}
