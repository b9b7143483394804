import { randomUUID } from 'node:crypto';
import { once, EventEmitter } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { PROJECTIONS } from '../../projections';
import { refuseOtherLog } from '../../src/projector/origin';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { openDeliveryLog, openLog } from '../../src/engines/embedded/log/open-log';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog, type ExpiringLog } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { rebuildProjections } from '../../src/operations/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { startEsdbServer } from '../support/esdb-server';
import { logFolder, type LogFolder } from '../support/log-folder';
import { FEED_ID, listed } from './sample-events';

/** A log that can be backed up and restored. */
export interface RestorableLog {
  readonly log: EventLog;
  backUp(): void;
  /** Replaces the log by its backup. */
  restore(): Promise<EventLog>;
  close(): Promise<void>;
}

function vacuum(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(`VACUUM INTO '${file}.backup'`);
  database.close();
}

async function putBack(file: string): Promise<void> {
  for (const suffix of ['-wal', '-shm']) await rm(file + suffix, { force: true });
  await copyFile(`${file}.backup`, file);
}

export async function restorableSqlite(): Promise<RestorableLog> {
  const { file, remove } = await logFolder();
  let { log } = await openLog(file, false);
  return {
    log,
    backUp: () => vacuum(file),
    restore: async () => {
      await log.close();
      // Opens the backup in place: this process keeps the old file open until garbage collection.
      ({ log } = await openLog(`${file}.backup`, false));
      return log;
    },
    close: async () => {
      await log.close();
      await remove();
    },
  };
}

export async function restorableEventStoreDb(): Promise<RestorableLog> {
  const server = await startEsdbServer();
  let log = await openEventStoreDb(server.url);
  return {
    log,
    backUp: () => vacuum(server.file),
    restore: async () => {
      await log.close();
      await server.kill();
      await putBack(server.file);
      await server.start();
      log = await openEventStoreDb(server.url);
      return log;
    },
    close: async () => {
      await log.close();
      await server.stop();
    },
  };
}

/** A read store in a temporary folder. */
export async function embeddedStore(): Promise<{ store: ReadStore; close: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'affilog-restored-'));
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  return {
    store,
    close: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

const REFUSED = {
  name: 'OtherLog',
  message: expect.stringMatching(/older backup.*affilog rebuild all --force/) as string,
};

/** Tests for a log that was restored from an older backup, for any engines. */
export function restoredLog(
  openTheLog: () => Promise<RestorableLog>,
  openTheStore: () => Promise<{ store: ReadStore; close: () => Promise<void> }>,
): void {
  let restorable: RestorableLog;
  let log: EventLog;
  let store: ReadStore;
  let close: () => Promise<void>;
  let other: LogFolder;
  const opened: ExpiringLog[] = [];
  const deliveries = async (): Promise<ExpiringLog> => {
    const { log: delivered } = await openDeliveryLog(other.file, false);
    opened.push(delivered);
    return delivered;
  };
  beforeEach(async () => {
    restorable = await openTheLog();
    other = await logFolder();
    ({ store, close } = await openTheStore());
    ({ log } = restorable);
    await list('a');
    restorable.backUp();
    await list('b', 'c', 'd');
    await projectAll();
    await expect(refuseOtherLog(log, store, PROJECTIONS)).resolves.toBeUndefined();
    log = await restorable.restore();
  });
  afterEach(async () => {
    await restorable.close();
    await close();
    for (const one of opened.splice(0)) await one.close();
    await other.remove();
  });

  async function list(...ids: readonly string[]): Promise<void> {
    const stream = `feed-${FEED_ID}`;
    let revision = NO_STREAM;
    for await (const [last] of log.readStream(stream, { backwards: true, limit: 1 }))
      revision = last?.revision ?? revision;
    await log.append(
      stream,
      revision,
      ids.map((id) => toNewEvent(listed(id), randomUUID())),
    );
  }

  function runner(report?: (error: unknown) => void): Runner {
    const options = {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
      ...(report === undefined ? {} : { report }),
    };
    return new Runner(log, store, PROJECTIONS, options);
  }

  /** Projects everything, then stops. */
  async function projectAll(): Promise<void> {
    const running = runner();
    await running.start();
    expect(await waitForPosition(SYSTEM_CLOCK, store, PROJECTIONS, await log.head(), 30_000)).toBe(true);
    await running.stop();
  }

  async function products(): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const page of store.scan({ collection: 'products' }, EVERYTHING))
      found.push(
        ...page.map(({ body }) => (JSON.parse(body) as { sourceProductId: string }).sourceProductId),
      );
    return found.sort();
  }

  test('are refused when their checkpoints are beyond its end', async () => {
    await expect(refuseOtherLog(log, store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
  });

  test('are refused when it has grown beyond their checkpoints', async () => {
    await list('e', 'f', 'g', 'h', 'i');
    await expect(refuseOtherLog(log, store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
  });

  test('are not updated, and the reason is reported', async () => {
    await list('e', 'f', 'g', 'h', 'i');
    const failures = new EventEmitter();
    const failed = once(failures, 'failure');
    const refused = runner((error) => failures.emit('failure', error));
    void refused.start();
    expect(await failed).toEqual([expect.objectContaining(REFUSED)]);
    await refused.stop();
    expect(await products()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('are replaced by a forced rebuild of all (docs/operations.md, Backup)', async () => {
    await list('e');
    await expect(rebuildProjections({ log, store, deliveries }, 'all')).rejects.toMatchObject(REFUSED);
    await rebuildProjections({ log, store, deliveries }, 'all', { force: true });
    expect(await products()).toEqual(['a', 'e']);
    await list('f');
    await projectAll();
    expect(await products()).toEqual(['a', 'e', 'f']);
  });
}
