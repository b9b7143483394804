import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Engines, openEngines } from '../../src/engines/open';
import { backUp, type BackedUp, restoreBackup } from '../../src/operations/backup';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { fill } from '../contracts/event-log/events';
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

  it('leaves nothing in a folder that it refuses', async () => {
    await writeFile(join(folder, 'other'), '');
    const options = { clock: SYSTEM_CLOCK, begin: nothing };
    const before = await readdir(folder);
    await expect(backUp(engines, place('data'), folder, options)).rejects.toThrow('expected an empty folder');
    expect(await readdir(folder)).toEqual(before);
  });
});
