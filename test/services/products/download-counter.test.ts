import { mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { positionOf, START, streamOf } from '../../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { DownloadCounter } from '../../../src/services/products/download-counter';
import { quota, quotaId } from '../../../src/domain/products/quota';
import { TestClock } from '../../support/clock';
import { overrideLog, withLog } from '../../support/temporary-log';

const DAY = 24 * 3_600_000;
const OTHERS = 12;

let folder: string;
let now: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-uncounted-'));
  now = Date.parse('2026-05-01T12:00:00Z');
});
afterEach(() => rm(folder, { recursive: true }));

const download = { feedId: 22, organisationId: 7, version: positionOf(1) };
async function* unreadable(): AsyncGenerator<never> {
  throw new EngineUnavailable('the log is away');
}
const away = (log: EventLog): EventLog => overrideLog(log, { readStream: unreadable });

function counterOver(log: EventLog): DownloadCounter {
  const report = (failure: unknown): void => {
    throw failure;
  };
  return new DownloadCounter({
    clock: new TestClock(() => now),
    log,
    folder: join(folder, 'uncounted'),
    report,
  });
}

type Download = Parameters<DownloadCounter['count']>[0];
const begin = (counter: DownloadCounter, one: Download): Promise<unknown> =>
  counter.count(one, async () => ({ release: () => undefined }));

const left = async (): Promise<readonly string[]> => readdir(join(folder, 'uncounted')).catch(() => []);

/** When the downloads that are counted began. */
async function counted(log: EventLog, organisationId = download.organisationId): Promise<readonly string[]> {
  let begun: readonly string[] = [];
  const stream = streamOf(quota.category, quotaId({ ...download, organisationId }));
  for await (const batch of log.readStream(stream))
    for (const { data } of batch) ({ begun } = JSON.parse(data) as { readonly begun: readonly string[] });
  return begun;
}

async function untilAllCounted(): Promise<void> {
  while ((await left()).length > 0) await pause(5);
}

/** Whether each of so many downloads one after the other is answered. */
async function answered(
  counter: DownloadCounter,
  count: number,
  organisationId = download.organisationId,
): Promise<readonly boolean[]> {
  const outcomes: boolean[] = [];
  for (let at = 0; at < count; at += 1)
    outcomes.push(
      await begin(counter, { ...download, organisationId }).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(EngineUnavailable);
          return false;
        },
      ),
    );
  return outcomes;
}

/** A log that loses the answers to appends, or is away altogether. */
function unsteady(log: EventLog) {
  const now = { isAway: false, losesAnswers: false };
  const steady = overrideLog(log, {
    readStream: (...args) => (now.isAway ? unreadable() : log.readStream(...args)),
    append: async (...args) => {
      const appended = await log.append(...args);
      if (now.losesAnswers) throw new EngineUnavailable('the answer is lost');
      return appended;
    },
  });
  return { log: steady, now };
}

async function countRest(log: EventLog): Promise<void> {
  const counter = counterOver(log);
  counter.start();
  await untilAllCounted();
  await counter.close();
}

describe('downloads while the log is unavailable (decisions P18)', () => {
  it('are counted later, as of when they were made, by another process after this one was killed', async () => {
    await withLog(async (log) => {
      const first = counterOver(away(log));
      const times = [now, now + 60_000].map((time) => new Date(time).toISOString());
      await begin(first, download);
      now += 60_000;
      await begin(first, download);
      expect([(await left()).length, await counted(log)]).toEqual([2, []]);
      now += 3_600_000;
      const others = Array.from({ length: OTHERS }, () => counterOver(log));
      for (const other of others) other.start();
      await untilAllCounted();
      for (const other of others) await other.close();
      expect(await counted(log)).toEqual(times);
    });
  });

  it('are as many as the quota of a version allows, of each organisation, as the days of grace are not known', async () => {
    await withLog(async (log) => {
      const counter = counterOver(away(log));
      expect(await answered(counter, 5)).toEqual([true, true, true, false, false]);
      expect(await answered(counter, 1, 8)).toEqual([true]);
    });
  });

  it('count before the next one that is counted at once', async () => {
    await withLog(async (log) => {
      const { log: over, now: state } = unsteady(log);
      const counter = counterOver(over);
      // The days of grace are over.
      await begin(counter, { ...download, version: positionOf(0) });
      now += 6 * DAY;
      state.isAway = true;
      for (let at = 0; at < 3; at += 1) await begin(counter, download);
      state.isAway = false;
      await expect(begin(counter, download)).rejects.toMatchObject({ status: 429 });
      expect(await left()).toEqual([]);
      expect(await counted(log)).toHaveLength(3);
    });
  });

  it('count once if the outcome of an append was unknown, whatever was counted since', async () => {
    await withLog(async (log) => {
      const { log: over, now: state } = unsteady(log);
      const paged = { ...download, version: START, page: 1 };
      const at = new Date(now).toISOString();
      state.losesAnswers = true;
      await begin(counterOver(over), paged);
      expect([(await left()).length, await counted(log)]).toEqual([1, [at]]);
      for (let page = 2; page <= 5; page += 1) await begin(counterOver(log), { ...paged, page });
      await countRest(log);
      expect(await counted(log)).toEqual([at]);
    });
  });

  it('count once if a process is killed, or the outcome is unknown, while they are counted later', async () => {
    await withLog(async (log) => {
      const { log: over, now: state } = unsteady(log);
      const whole = { ...download, version: START };
      const at = new Date(now).toISOString();
      await begin(counterOver(away(log)), whole);
      state.losesAnswers = true;
      const lossy = counterOver(over);
      lossy.start();
      while ((await counted(log)).length === 0) await pause(5);
      await lossy.close();
      // Another is counted after it, and the process that had taken the file is gone.
      await begin(counterOver(log), whole);
      const [name = ''] = await left();
      expect(name).toMatch(/\.uncounted$/);
      const taken = `${name.replace('.uncounted', '')}.${now - 120_000}.counting`;
      await rename(join(folder, 'uncounted', name), join(folder, 'uncounted', taken));
      await countRest(log);
      expect(await counted(log)).toEqual([at, at]);
    });
  });

  it('do not wait for those of other organisations to be counted', async () => {
    await withLog(async (log) => {
      const { log: over, now: state } = unsteady(log);
      const counter = counterOver(over);
      state.isAway = true;
      for (let organisationId = 1; organisationId <= 20; organisationId += 1)
        expect(await answered(counter, 1, organisationId)).toEqual([true]);
      state.isAway = false;
      await begin(counter, download);
      expect([(await counted(log)).length, (await left()).length]).toEqual([2, 19]);
      await begin(counter, { ...download, organisationId: 99 });
      expect(await left()).toHaveLength(19);
      await countRest(log);
      expect(await counted(log, 20)).toHaveLength(1);
    });
  });

  it('do not hold up the end of the process', async () => {
    await withLog(async (log) => {
      const counter = counterOver(away(log));
      for (let organisationId = 1; organisationId <= 5; organisationId += 1)
        await answered(counter, 2, organisationId);
      const appending = { hasBegun: false, mayContinue: false };
      const slow = counterOver(
        overrideLog(log, {
          append: async (...args) => {
            appending.hasBegun = true;
            while (!appending.mayContinue) await pause(5);
            return await log.append(...args);
          },
        }),
      );
      slow.start();
      while (!appending.hasBegun) await pause(5);
      const closed = slow.close();
      appending.mayContinue = true;
      await closed;
      expect(await left()).toHaveLength(9);
    });
  });

  it('are as many as the quota allows if one is noted while others are counted', async () => {
    await withLog(async (log) => {
      const { log: over, now: state } = unsteady(log);
      const counter = counterOver(
        overrideLog(over, {
          append: async (stream, ...args) => {
            if (stream === streamOf(quota.category, quotaId(download))) {
              // The log goes away for a moment while the first one is being counted.
              state.isAway = true;
              expect(await answered(counter, 2, 8)).toEqual([true, true]);
              state.isAway = false;
            }
            return await over.append(stream, ...args);
          },
        }),
      );
      state.isAway = true;
      expect(await answered(counter, 1)).toEqual([true]);
      now += 1;
      expect(await answered(counter, 1, 8)).toEqual([true]);
      now += 1;
      state.isAway = false;
      counter.start();
      while ((await counted(log, 8)).length === 0) await pause(5);
      await counter.close();
      expect(await left()).toHaveLength(2);
      state.isAway = true;
      expect(await answered(counter, 1, 8)).toEqual([false]);
    });
  });

  it('leave no files behind if a process is killed while it notes one', async () => {
    await withLog(async (log) => {
      const uncounted = join(folder, 'uncounted');
      await mkdir(uncounted);
      const named = (digit: number) =>
        join(uncounted, `${now}_22-7_${'0'.repeat(8)}-0000-4000-8000-${String(digit).padStart(12, '0')}`);
      const MOST = 10_000;
      for (let at = 0; at < MOST; at += 1) await writeFile(named(at), '');
      // Being written, as far as anybody knows: they are not noted yet.
      expect(await answered(counterOver(away(log)), 1)).toEqual([true]);
      const old = new Date(now - 120_000);
      for (let at = 1; at < MOST; at += 1) await utimes(named(at), old, old);
      const counter = counterOver(log);
      counter.start();
      while ((await left()).length > 1) await pause(20);
      await counter.close();
      expect(await left()).toEqual([named(0).slice(uncounted.length + 1)]);
    });
  });

  it('are refused as unavailable if they cannot be noted', async () => {
    await withLog(async (log) => {
      await writeFile(join(folder, 'uncounted'), 'a file in place of the folder');
      const counter = counterOver(away(log));
      const unavailable = {
        name: 'EngineUnavailable',
        message: expect.stringContaining('could not be noted') as string,
      };
      await expect(begin(counter, download)).rejects.toMatchObject(unavailable);
    });
  });
});
