import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { chmodSync, writeFileSync } from 'node:fs';
import { NO_STREAM } from '../../src/kernel/event';
import { type EngineUnavailable } from '../../src/kernel/event-log';
import { type Commit, GroupCommit, LogWriter, pack } from '../../src/engines/embedded/log/log-writer';
import { LogReader } from '../../src/engines/embedded/log/log-reader';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { openToAppend } from '../../src/engines/embedded/log/schema';
import { newEvent, newEvents } from '../contracts/event-log/events';
import { type LogFolder, logFolder } from '../support/log-folder';

/** What SQLite calls `synchronous=FULL`. */
const FULL = 2;

let temporary: LogFolder;
beforeEach(async () => {
  temporary = await logFolder();
});
afterEach(() => temporary.remove());

describe('concurrent appends', () => {
  test('share one commit and one wait for the disk', async () => {
    const writer = new LogWriter(temporary.file);
    const groups: number[] = [];
    const commits = new GroupCommit(
      (appends) => (groups.push(appends.length), writer.commit(appends)),
      () => undefined,
    );
    await Promise.all(newEvents(64).map((event, n) => commits.append(pack(`feed-${n}`, NO_STREAM, [event]))));
    await commits.append(pack('feed-0', 0, [newEvent()]));

    expect(groups).toEqual([64, 1]);
    writer.close();
  });

  test('of more than 16 MB are committed in several transactions, in order', async () => {
    const writer = new LogWriter(temporary.file);
    const groups: number[] = [];
    const positions: string[] = [];
    const commits = new GroupCommit(
      (appends) => (groups.push(appends.length), writer.commit(appends)),
      ({ position }) => positions.push(position),
    );
    const big = (): ReturnType<typeof newEvent> => newEvent({ text: 'x'.repeat(1_000_000) });
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => commits.append(pack(`feed-${n}`, NO_STREAM, [big()]))),
    );

    expect(groups).toEqual([16, 16, 8]);
    expect(positions.map(Number)).toEqual([16, 32, 40]);
    writer.close();
  });

  test('of a commit follow what it names, although one repeats an append before those of others', async () => {
    const [writer, others] = [new LogWriter(temporary.file), new LogWriter(temporary.file)];
    const commits: Commit[] = [];
    const group = new GroupCommit(
      (appends) => writer.commit(appends),
      (commit) => commits.push(commit),
    );
    const repeated = pack('feed-1', NO_STREAM, [newEvent()]);
    await group.append(repeated);
    await Promise.all(newEvents(2).map((event, n) => group.append(pack(`feed-a${n}`, NO_STREAM, [event]))));
    others.commit([pack('voucher-1', NO_STREAM, [newEvent()])]);
    await Promise.all([group.append(repeated), group.append(pack('feed-2', NO_STREAM, [newEvent()]))]);

    expect(commits.map(({ after }) => after && Number(after))).toEqual([0, 1, undefined]);
    for (const each of [writer, others]) each.close();
  });

  test('that are pending when the log is closed are committed first', async () => {
    const { log } = await openLog(temporary.file, false);
    const appended = log.append('feed-1', NO_STREAM, newEvents(2));
    await log.close();

    await expect(appended).resolves.toMatchObject({ revision: 1 });
    await expect(log.append('feed-1', 1, [newEvent()])).rejects.toMatchObject({ name: 'EngineUnavailable' });
  });
});

test('every commit over the appending connection waits for the disk', () => {
  const opened: DatabaseSyncInstance[] = [];
  const writer = new LogWriter(temporary.file, 'events', (file) => {
    const database = openToAppend(file);
    opened.push(database);
    return database;
  });
  writer.commit([pack('feed-1', NO_STREAM, [newEvent()])]);
  expect(opened[0]?.prepare('PRAGMA synchronous').get()).toEqual([FULL]);
  expect(opened[0]?.prepare('PRAGMA journal_mode').get()).toEqual(['wal']);
  writer.close();
});

describe('a disk that', () => {
  test.each([
    ['is full', 'PRAGMA max_page_count = 40', 'PRAGMA max_page_count = 100000', 'the disk is full'],
    ['may only be read', 'PRAGMA query_only = 1', 'PRAGMA query_only = 0', 'it is read-only'],
  ])(
    '%s loses nothing that was acknowledged, is named, and is written again when that ends (decisions A12)',
    async (_, begin, end, named) => {
      let condition = '';
      const opened: DatabaseSyncInstance[] = [];
      const writer = new LogWriter(temporary.file, 'events', (file) => {
        const database = openToAppend(file);
        database.exec(condition);
        opened.push(database);
        return database;
      });
      const commits = new GroupCommit(
        (appends) => writer.commit(appends),
        () => undefined,
      );
      const append = async (n: number): Promise<void> => {
        await commits.append(pack(`feed-${n % 4}`, Math.floor(n / 4) * 20 - 1, batches[n]!));
      };
      const batches = Array.from({ length: 80 }, () =>
        Array.from({ length: 20 }, () => newEvent({ text: 'x'.repeat(500) })),
      );
      for (let n = 0; n < 8; n += 1) await append(n);

      condition = begin;
      opened.at(-1)!.exec(begin);
      let failed = 8;
      let error: EngineUnavailable | undefined;
      for (; error === undefined && failed < 80; failed += 1)
        await append(failed).catch((raised: unknown) => (error = raised as EngineUnavailable));
      failed -= 1;
      expect(error).toMatchObject({ name: 'EngineUnavailable', message: expect.stringContaining(named) });
      expect(error!.message).not.toContain(temporary.file);
      const together = await Promise.allSettled([append(failed), append(failed)]);
      expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      const reader = new LogReader(temporary.file);
      expect(reader.head()).toBe(failed * 20);

      condition = end;
      for (let n = failed; n < 80; n += 1) await append(n);
      expect(reader.ofStream('feed-3', 0, false, 1_000).events.map(({ id }) => id)).toEqual(
        batches.filter((_, n) => n % 4 === 3).flatMap((batch) => batch.map(({ id }) => id)),
      );
      reader.close();
      writer.close();
    },
  );
});

describe('a start', () => {
  test('in a read-only folder fails, and succeeds once the folder is writable', async () => {
    chmodSync(temporary.folder, 0o555);
    const refused = unprivileged(() => openLog(temporary.file, false));

    await expect(refused).rejects.toMatchObject({ name: 'EngineUnavailable' });
    await expect(refused).rejects.not.toThrow(temporary.folder);

    chmodSync(temporary.folder, 0o755);
    const { log } = await openLog(temporary.file, false);
    await log.append('feed-1', NO_STREAM, [newEvent()]);
    await log.close();
  });

  test.each([
    ['is no database', () => writeFileSync(temporary.file, 'x'.repeat(10_000)), 'damaged'],
    [
      'it was written by a newer version',
      () => {
        const database = openToAppend(temporary.file);
        database.exec('PRAGMA user_version = 1000');
        database.close();
      },
      'newer version',
    ],
  ])('with a file that %s is refused', async (_, spoil, named) => {
    spoil();
    await expect(openLog(temporary.file, false)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining(named),
    });
  });
});

/** Does it without the rights of the super-user, who may write anything. */
async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
