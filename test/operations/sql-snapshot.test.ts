import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { openEngines } from '../../src/engines/open';
import { keepUp } from '../../src/operations/sql/snapshot';
import { SqlSession } from '../../src/operations/sql/sql';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { appendAtEnd, newEvent } from '../contracts/event-log/events';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf, overrideLog } from '../support/temporary-log';
import {
  folder,
  engines,
  parts,
  type AskOptions,
  textOf,
  rows,
  rowsOf,
  layoutFolder,
  filesIn,
} from './sql-session';

describe('The snapshot (decisions X115)', () => {
  const positions = async (options?: AskOptions): Promise<readonly unknown[]> =>
    (await rows('SELECT position FROM events ORDER BY position', options)).map(({ position }) => position);
  const positionsInLog = async (): Promise<readonly number[]> =>
    (await eventsOf(engines.log)).map(({ position }) => Number(position));
  const append = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      const type = ['Tried', 'ProductRepriced', 'VoucherWithdrawn'][at % 3] ?? '';
      await appendAtEnd(engines.log, `feed-${at % 5}`, { ...newEvent({ n: at }), type });
    }
  };

  it('has every event once, however it was cut, merged, interrupted and made again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            count: fc.integer({ min: 0, max: 40 }),
            segment: fc.integer({ min: 1, max: 20 }),
            loses: fc.constantFrom('nothing', 'nothing', 'manifest', 'file', 'everything'),
            interrupted: fc.boolean(),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        async (steps) => {
          for (const { count, segment, loses, interrupted } of steps) {
            await append(count);
            if (interrupted) {
              const stop = new AbortController();
              const onProgress = (): void => stop.abort();
              await keepUp(parts, { segment, onProgress, signal: stop.signal }).catch(() => undefined);
            }
            expect(await positions({ segment })).toEqual(await positionsInLog());
            if (loses === 'everything') await rm(join(folder, 'analytics'), { recursive: true, force: true });
            if (loses === 'manifest') await rm(join(await layoutFolder(), 'manifest.json'), { force: true });
            const [file] = await filesIn('ProductRepriced');
            if (loses === 'file' && file !== undefined) await rm(join(folder, 'analytics', file));
          }
        },
      ),
      { numRuns: 5 },
    );
  });

  it('has few files, however often it was brought up to date', async () => {
    for (let at = 0; at < 30; at += 1) {
      await append(3);
      await keepUp(parts);
    }
    expect(await positions()).toEqual(await positionsInLog());
    const manifest = JSON.parse(await readFile(join(await layoutFolder(), 'manifest.json'), 'utf8')) as {
      readonly events: Readonly<Record<string, readonly unknown[]>>;
    };
    for (const files of Object.values(manifest.events)) expect(files.length).toBeLessThan(8);
  }, 60_000);

  it('is made again for another log', async () => {
    await append(10);
    await keepUp(parts);
    const other = await temporaryFolder();
    const others = await openEngines({
      dataDir: other,
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    for (let at = 0; at < 20; at += 1) await appendAtEnd(others.log, 'feed-9', newEvent());
    const found = await rows('SELECT DISTINCT stream FROM events', { of: { ...parts, log: others.log } });
    expect(found).toEqual([{ stream: 'feed-9' }]);
    await others.close();
    await removeFolder(other);
  });

  it('may be made by several processes at once', async () => {
    await append(50);
    const options = { segment: 7 };
    await Promise.all([keepUp(parts, options), keepUp(parts, options), keepUp(parts, options)]);
    expect(await positions(options)).toEqual(await positionsInLog());
  });

  it('spills to a folder of its own, which others leave alone and which is removed', async () => {
    const spilling = async (): Promise<SqlSession> => {
      const session = await SqlSession.open(folder);
      await session.prepare(parts, '');
      await textOf(session, "SET memory_limit = '40MB'");
      await textOf(
        session,
        "CREATE TABLE t AS SELECT i, md5(i::VARCHAR) || md5('x' || i) AS s FROM range(900000) r(i)",
      );
      return session;
    };
    const spilled = async (): Promise<readonly string[]> =>
      (await readdir(join(folder, 'analytics'), { recursive: true })).filter((name) => name.endsWith('.tmp'));
    const [one, another] = [await spilling(), await spilling()];
    expect(new Set((await spilled()).map(dirname)).size).toBe(2);
    another.close();
    expect(new Set((await spilled()).map(dirname)).size).toBe(1);
    const sound = "SELECT count(*) AS n FROM t WHERE s = md5(i::VARCHAR) || md5('x' || i)";
    expect(rowsOf(await textOf(one, sound))).toEqual([{ n: 900_000 }]);
    one.close();
    expect((await readdir(join(folder, 'analytics'))).filter((name) => name.startsWith('temp'))).toEqual([]);
  }, 60_000);

  it('removes what killed processes have left an hour ago, even if it fails', async () => {
    await append(10);
    await keepUp(parts);
    const layout = basename(await layoutFolder());
    const left = async (name: string, hours: number): Promise<void> => {
      const path = join(folder, 'analytics', name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '');
      const then = SYSTEM_CLOCK.wall() / 1000 - hours * 3_600;
      for (const one of [path, dirname(path)]) await utimes(one, then, then);
    };
    const old = [
      'temporary/x.tmp',
      'temporary-1/x.tmp',
      `${layout}/Tried/x.parquet.1.part`,
      `${layout}/manifest.json.1.part`,
    ];
    const recent = ['temporary-2/x.tmp', `${layout}/Tried/y.parquet.1.part`];
    for (const name of old) await left(name, 2);
    for (const name of recent) await left(name, 0.5);
    await append(1);
    const onProgress = (): never => {
      throw new Error('interrupted');
    };
    await expect(keepUp(parts, { onProgress })).rejects.toThrow('interrupted');
    const all = await readdir(join(folder, 'analytics'), { recursive: true });
    expect([...old, ...recent].filter((name) => all.includes(name))).toEqual(recent);
    expect(await positions()).toEqual(await positionsInLog());
  });

  it('fails as the log does, and continues later', async () => {
    await append(30);
    const failing = overrideLog(engines.log, {
      readAll: () => {
        throw new Error('no answer');
      },
    });
    await expect(keepUp({ ...parts, log: failing })).rejects.toThrow('no answer');
    expect(await positions()).toEqual(await positionsInLog());
  });
});
