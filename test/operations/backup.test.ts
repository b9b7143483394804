import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Engines, openEngines } from '../../src/engines/open';
import { makeFolder } from '../../src/engines/data-folder';
import { backUp, type BackedUp, restoreBackup, verifyBackup } from '../../src/operations/backup';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { run } from '../cli/run';
import { openDeliveryLog } from '../../src/engines/embedded/log/open-log';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, positionOf } from '../../src/kernel/event';
import { appendAtEnd, fill } from '../contracts/event-log/events';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf } from '../support/temporary-log';

let folder: string;
let engines: Engines;
beforeEach(async () => {
  folder = await temporaryFolder();
  engines = await open('data');
  await engines.deliveries();
  await fill(engines.log, 'feed-1', 700);
});
afterEach(async () => {
  await engines.close();
  await removeFolder(folder);
});

const SQLITE = { eventLog: 'sqlite:', readStore: 'sqlite:' } as const;
const place = (name: string) => ({ ...SQLITE, dataDir: join(folder, name) });
const open = (name: string): Promise<Engines> =>
  openEngines({ ...place(name), threads: false, importing: name !== 'data' });
const to = (): string => join(folder, 'backup');
const nothing = (): Promise<void> => Promise.resolve();
const backUpTo = (begin = nothing): Promise<BackedUp> =>
  backUp(engines, place('data'), to(), { clock: SYSTEM_CLOCK, begin });

async function restored(name: string): Promise<number> {
  const other = await open(name);
  try {
    await restoreBackup(to(), other, place(name));
    return (await eventsOf(other.log)).length;
  } finally {
    await other.close();
  }
}

describe('A backup (decisions X118)', () => {
  it('refuses a second one into its folder until it has ended', async () => {
    const refused = 'another backup into this folder is under way: wait until it has ended';
    const first = await backUpTo(async () => {
      await fill(engines.log, 'feed-2', 300);
      const begin = jest.fn(nothing);
      await expect(backUpTo(begin)).rejects.toThrow(refused);
      expect(begin).not.toHaveBeenCalled();
    });
    expect(first.events).toBe(1000);
    expect(await restored('first')).toBe(1000);
    await fill(engines.log, 'feed-3', 1);
    expect(await backUpTo()).toMatchObject({ events: 1001, added: 1 });
    expect(await restored('second')).toBe(1001);
    for (const name of await readdir(to()))
      expect([name, (await stat(join(to(), name))).mode & 0o077]).toEqual([name, 0]);
  });

  it('one that has failed leaves the folder free', async () => {
    await expect(backUpTo(() => Promise.reject(new Error('not recorded')))).rejects.toThrow('not recorded');
    expect(await backUpTo()).toMatchObject({ events: 700 });
  });

  it('is successful only if all of its files can be read, those of earlier runs too', async () => {
    await backUpTo();
    await fill(engines.log, 'feed-2', 10);
    const file = join(to(), 'log', 'events-000001.ndjson.gz');
    const bytes = await readFile(file);
    bytes[100]! ^= 1;
    await writeFile(file, bytes);
    await expect(backUpTo()).rejects.toThrow(/events-000001.* is damaged.*: back up into an empty folder/);
  });

  it('is not made in the data folder, nor around it, whatever links lead there', async () => {
    const options = { clock: SYSTEM_CLOCK, begin: nothing };
    await symlink(join(folder, 'data'), join(folder, 'link'));
    await mkdir(join(folder, 'around'));
    await symlink(join(folder, 'around'), join(folder, 'round'));
    for (const [dataDir, target] of [
      ['data', 'data'],
      ['data', 'data/deep/backup'],
      ['data', 'link/backup'],
      ['link', 'data/backup'],
      ['around/data', 'round'],
    ] as const)
      await expect(backUp(engines, place(dataDir), join(folder, target), options)).rejects.toThrow(
        /^the backup would be in the data folder \(DATA_DIR\).*choose another folder/,
      );
    expect((await readdir(join(folder, 'data'))).filter((name) => /deep|backup/.test(name))).toEqual([]);
    const others = await backUp(engines, place('data'), join(folder, 'data-backup'), options);
    expect(others.events).toBe(700);
  });

  it('ends with an error where a folder cannot be made, as in a pseudo file system', async () => {
    const options = { clock: SYSTEM_CLOCK, begin: nothing };
    for (const target of ['/proc/affilog', '/proc/affilog/daily'])
      await expect(backUp(engines, place('data'), target, options)).rejects.toThrow('/proc/affilog');
    await expect(makeFolder('/proc/affilog/export')).rejects.toThrow('/proc/affilog');
  });

  it('leaves nothing in a folder that it refuses', async () => {
    await mkdir(to());
    await writeFile(join(to(), 'other'), '');
    await expect(backUpTo()).rejects.toThrow('expected an empty folder');
    expect(await readdir(to())).toEqual(['other']);
  });
});

describe('A backup that is read again (decisions X144)', () => {
  const manifest = async () => JSON.parse(await readFile(join(to(), 'backup.json'), 'utf8')) as Manifest;

  it('says what it has, up to when, and that it fits together; nothing is written, so its disk may be read-only', async () => {
    const key = join(folder, 'data', 'notify.key');
    await writeFile(key, `${'a'.repeat(64)}\n`);
    const deliveries = await engines.deliveries();
    const upTo = await engines.log.head();
    const cursor = { type: 'Matched', data: { upTo, messages: 0 } };
    await deliveries.append('matched', NO_STREAM, [toNewEvent(cursor, SYSTEM_CLOCK.uuid())]);
    await backUp(engines, place('data'), to(), { clock: SYSTEM_CLOCK, begin: nothing, withKey: true });
    const before = await readdir(to(), { recursive: true });
    const seen: unknown[] = [];
    const found = await verifyBackup(to(), { onProgress: (progress) => seen.push(progress) });
    const { at, log } = await manifest();
    expect(found).toEqual({
      ...{ at, events: 700, position: log.range.upTo, bytes: expect.any(Number) },
      ...{ hasDeliveries: true, hasKey: true, problems: [], sha256: expect.stringMatching(/^[\da-f]{64}$/) },
    });
    expect(seen.length).toBeGreaterThan(0);
    expect((await readdir(to(), { recursive: true })).sort()).toEqual(before.sort());
    await writeFile(join(to(), 'notify.key'), 'short');
    expect((await verifyBackup(to())).problems).toEqual([expect.stringMatching(/^notify\.key has 5 bytes/)]);
  });

  it('has the SHA-256 that a restore has, and another backup of the same events (decisions X152)', async () => {
    await backUpTo();
    const { sha256 } = await verifyBackup(to());
    const other = await openEngines({
      dataDir: join(folder, 'other'),
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    try {
      expect((await restoreBackup(to(), other, place('other'))).digest).toBe(sha256);
      await backUp(other, place('other'), join(folder, 'again'), { clock: SYSTEM_CLOCK, begin: nothing });
    } finally {
      await other.close();
    }
    expect((await verifyBackup(join(folder, 'again'))).sha256).toBe(sha256);
  });

  it('names each file that is damaged, or missing, without its folder', async () => {
    await backUpTo();
    const [file, deliveries] = ['log/events-000001.ndjson.gz', 'deliveries-1.sqlite'];
    const bytes = await readFile(join(to(), file));
    bytes[100]! ^= 1;
    await writeFile(join(to(), file), bytes);
    await rm(join(to(), deliveries));
    expect((await verifyBackup(to())).problems).toEqual([
      `${file} is damaged: its SHA-256 is not that of backup.json`,
      `${deliveries} is missing`,
    ]);
  });

  it('finds a delivery log that is ahead of the log, and one that is no log', async () => {
    await backUpTo();
    const path = join(to(), 'deliveries-1.sqlite');
    const changed = async (change: () => Promise<void>) => {
      await change();
      const written = await manifest();
      const file = { ...written.deliveries, bytes: (await stat(path)).size, sha256: await sha256(path) };
      await writeFile(join(to(), 'backup.json'), JSON.stringify({ ...written, deliveries: file }));
      return (await verifyBackup(to())).problems;
    };
    const ahead = await changed(async () => {
      const { log } = await openDeliveryLog(path, false);
      const cursor = { type: 'Matched', data: { upTo: positionOf(9_000), messages: 0 } };
      await appendAtEnd(log, 'matched', toNewEvent(cursor, SYSTEM_CLOCK.uuid()));
      await log.close();
      for (const end of ['-wal', '-shm']) await rm(`${path}${end}`, { force: true });
    });
    expect(ahead).toEqual([
      expect.stringMatching(/^the delivery log is as of position 9000, but the log ends at 7\d\d$/),
    ]);
    expect(await changed(() => writeFile(path, 'x'.repeat(10_000)))).toEqual([
      'deliveries-1.sqlite: the delivery log is not available: its file is damaged',
    ]);
  });

  it('is not there, or is none', async () => {
    await expect(verifyBackup(join(folder, 'none'))).rejects.toThrow('there is no complete backup');
    await mkdir(to());
    await writeFile(join(to(), 'backup.json'), '{}');
    await expect(verifyBackup(to())).rejects.toThrow(/^backup\.json: expected what `affilog backup` writes/);
  });

  it('is read by the command line, which needs no data folder, and exits with 1 if it cannot be restored', async () => {
    await backUpTo();
    const affilog = (...args: readonly string[]) =>
      run(['backup', to(), ...args], { DATA_DIR: join(folder, 'no') });
    const { code, out } = await affilog('--verify');
    expect([code, out.split('\n')]).toEqual([
      0,
      [
        expect.stringMatching(/^a backup of \S+Z, [\d.]+ KB: 700 events up to position \d+$/),
        expect.stringMatching(/^SHA-256 [\da-f]{64}, as of a restore of it$/),
        'with the delivery log, which fits to it',
        'without the key: NOTIFY_KEY, or notify.key, is to be kept elsewhere',
        'all of it can be read: `affilog restore` restores it',
        '',
      ],
    ]);
    expect(JSON.parse((await affilog('--verify', '--json')).out)).toMatchObject({
      events: 700,
      problems: [],
    });
    expect(await readdir(folder)).not.toContain('no');
    await rm(join(to(), 'log', 'events-000001.ndjson.gz'));
    const damaged = await affilog('--verify');
    expect([damaged.code, damaged.out]).toEqual([
      1,
      expect.stringContaining('  log/events-000001.ndjson.gz is missing\n'),
    ]);
    expect(await affilog('--verify', '--with-key')).toMatchObject({ code: 2 });
    expect((await run(['backup', join(folder, 'none'), '--verify'])).code).toBe(2);
  });
});

interface Manifest {
  readonly at: string;
  readonly log: { readonly range: { readonly upTo: string } };
  readonly deliveries: object;
}

async function sha256(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
