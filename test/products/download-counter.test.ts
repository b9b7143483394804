import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { positionOf, streamOf } from '../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { DownloadCounter } from '../../src/products/download-counter';
import { quota, quotaId } from '../../src/products/quota';
import { overrideLog, withLog } from '../support/temporary-log';

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
const away = (log: EventLog): EventLog =>
  overrideLog(log, { head: async () => Promise.reject(new EngineUnavailable('the log is away')) });

function counterOver(log: EventLog): DownloadCounter {
  const report = (failure: unknown): void => {
    throw failure;
  };
  return new DownloadCounter({ log, folder: join(folder, 'uncounted'), now: () => new Date(now), report });
}

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

describe('downloads while the log is unavailable (decisions P18)', () => {
  it('are counted later, as of when they were made, by another process after this one was killed', async () => {
    await withLog(async (log) => {
      const first = counterOver(away(log));
      const times = [now, now + 60_000].map((time) => new Date(time).toISOString());
      await first.count(download);
      now += 60_000;
      await first.count(download);
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
      const outcomes = async (count: number, organisationId: number): Promise<readonly boolean[]> => {
        const answered: boolean[] = [];
        for (let at = 0; at < count; at += 1)
          answered.push(
            await counter.count({ ...download, organisationId }).then(
              () => true,
              (error: unknown) => {
                expect(error).toBeInstanceOf(EngineUnavailable);
                return false;
              },
            ),
          );
        return answered;
      };
      expect(await outcomes(5, 7)).toEqual([true, true, true, false, false]);
      expect(await outcomes(1, 8)).toEqual([true]);
    });
  });

  it('count before the next one that is counted at once', async () => {
    await withLog(async (log) => {
      let isAway = false;
      const counter = counterOver(
        overrideLog(log, {
          head: async () =>
            isAway ? Promise.reject(new EngineUnavailable('the log is away')) : await log.head(),
        }),
      );
      // The days of grace are over.
      await counter.count({ ...download, version: positionOf(0) });
      now += 6 * DAY;
      isAway = true;
      for (let at = 0; at < 3; at += 1) await counter.count(download);
      isAway = false;
      await expect(counter.count(download)).rejects.toMatchObject({ status: 429 });
      expect(await left()).toEqual([]);
      expect(await counted(log)).toHaveLength(3);
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
      await expect(counter.count(download)).rejects.toMatchObject(unavailable);
    });
  });
});
