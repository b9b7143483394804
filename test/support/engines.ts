import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Engines, type EngineSettings, openEngines } from '../../src/engines/open';
import { type SettingName } from '../../src/settings/settings';

/** Engines for tests of the application: set by a jest configuration (`test/servers/`), by default SQLite. */
export interface TestedEngines {
  readonly log: 'sqlite' | 'eventstoredb';
  readonly store: 'sqlite' | 'elasticsearch';
}

const SQLITE: TestedEngines = { log: 'sqlite', store: 'sqlite' };

/** The engines that this suite runs with. */
export function testedEngines(): TestedEngines {
  return (globalThis as { engines?: TestedEngines }).engines ?? SQLITE;
}

/** With servers each request takes longer: tests that do not depend on engines may use fewer cases. */
export const OVER_SERVERS = Object.values(testedEngines()).some((engine) => engine !== 'sqlite');

/** A log and a store for one test: their URLs, and how to remove them after closing. */
export interface IsolatedEngines {
  readonly settings: Readonly<Partial<Record<SettingName, string>>>;
  readonly remove: () => Promise<void>;
}

/**
 * Engines for an application with this data folder. EventStoreDB means the real client with our own endpoint, over a
 * log in the folder.
 */
export async function isolatedEngines(
  dataDir: string,
  { log, store }: TestedEngines = testedEngines(),
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

/** A folder, and the engines for it, of a test without an application. */
export interface TestedFolder {
  /** The settings by which other processes open the same engines. */
  readonly settings: EngineSettings;
  readonly remove: () => Promise<void>;
}

/** Opens the tested engines in a folder of their own. Close them before `remove`. */
export async function openTestedEngines(): Promise<{
  readonly folder: TestedFolder;
  readonly engines: Engines;
}> {
  const dataDir = await mkdtemp(join(tmpdir(), 'affilog-engines-'));
  const isolated = await isolatedEngines(dataDir);
  const { EVENT_LOG: eventLog = 'sqlite:', READ_STORE: readStore = 'sqlite:' } = isolated.settings;
  const settings = { dataDir, eventLog, readStore, threads: false };
  const remove = async (): Promise<void> => {
    await isolated.remove();
    await rm(dataDir, { recursive: true });
  };
  return { folder: { settings, remove }, engines: await openEngines(settings) };
}

// Clients of servers take long to load, so they are only loaded if needed.

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
