import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_STREAM } from '../../../src/kernel/event';
import { execute, toNewEvent } from '../../../src/kernel/decider';
import { Fault } from '../../../src/kernel/fault';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { DownloadCounter } from '../../../src/services/products/download-counter';
import {
  type CountedDownload,
  type FeedDownloaded,
  quota,
  quotaId,
} from '../../../src/domain/products/quota';
import { TestClock } from '../../support/clock';
import { overrideLog, withLog } from '../../support/temporary-log';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse('2026-05-01T12:00:00Z');

type State = Parameters<typeof quota.decide>[1];
const VERSIONS = ['0000000000000000001', '0000000000000000002', '0000000000000000003'] as const;

/** Downloads one after the other, each so many ms after the start: 'ok', or the seconds to wait. */
function downloads(
  ...requests: readonly (readonly [after: number, version?: 0 | 1 | 2, page?: number])[]
): (number | 'ok')[] {
  let state: State = quota.initial;
  return requests.map(([after, version = 0, page]) => {
    try {
      for (const event of quota.decide(download(after, version, page), state))
        state = quota.evolve(state, event);
      return 'ok';
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      expect([error.code, error.status]).toEqual(['429', 429]);
      expect(error.message).toMatch(/quota is exceeded because the feed has not been updated recently/);
      return error.details.retryAfter ?? NaN;
    }
  });
}

const timeOf = (after: number) => new Date(START + after).toISOString();

/** What was stored of a download that began so many hours after the start. */
function of(hour: number, begun: readonly number[]): FeedDownloaded {
  const { feedId, organisationId, version, at } = download(hour * HOUR, 0);
  return {
    type: 'FeedDownloaded',
    data: { feedId, organisationId, version, at, begun: begun.map((one) => timeOf(one * HOUR)), pages: [] },
  };
}

function download(after: number, version: 0 | 1 | 2, page?: number): CountedDownload {
  return {
    feedId: 22,
    organisationId: 7,
    version: VERSIONS[version],
    at: timeOf(after),
    recordedAt: VERSIONS[2],
    ...(page === undefined ? {} : { page }),
  };
}

describe('the quota of downloads (decisions P18)', () => {
  it('has no limit for five days from the first request of a feed (Document 1, Limits: Grace period)', () => {
    const many = Array.from({ length: 50 }, (_, at) => [at * 2 * HOUR] as const);
    expect(downloads(...many, [5 * DAY - 1])).toEqual(Array(51).fill('ok'));
  });

  it('then allows each version three times within 24 hours (Document 1, Limits: Bulk download repeats)', () => {
    const late = 5 * DAY;
    expect(
      downloads(
        [0],
        [late],
        [late + HOUR],
        [late + 2 * HOUR],
        [late + 3 * HOUR],
        [late + DAY - 1],
        [late + DAY],
      ),
    ).toEqual(['ok', 'ok', 'ok', 'ok', 21 * 3600, 1, 'ok']);
    expect(downloads([0], [late - 2], [late - 1], [late], [late + 1])).toEqual([
      'ok',
      'ok',
      'ok',
      'ok',
      24 * 3600,
    ]);
  });

  it('gives permission again at once with a new version', () => {
    const late = 6 * DAY;
    expect(
      downloads([0], [late], [late], [late], [late], [late, 1], [late, 1], [late, 1], [late, 1], [late, 2]),
    ).toEqual(['ok', 'ok', 'ok', 'ok', 24 * 3600, 'ok', 'ok', 'ok', 24 * 3600, 'ok']);
  });

  it('begins anew in a log that was moved, where what was sent before has a position after its own event', () => {
    const begun = [18, 19, 20].map((hour) => timeOf(6 * DAY + hour * HOUR));
    const { data } = of(6 * 24 + 20, []);
    const moved = { ...data, version: '0000000000000000009', begun };
    const state = { first: timeOf(0), last: moved };
    expect(quota.decide(download(7 * DAY, 0), state)).toMatchObject([
      { data: { version: VERSIONS[0], begun: [timeOf(7 * DAY)] } },
    ]);
    expect(() => quota.decide({ ...download(7 * DAY, 0), recordedAt: moved.version }, state)).toThrow(Fault);
  });

  it('counts a version that is older than one sent already, by a process that is behind, as that one', () => {
    const late = 6 * DAY;
    expect(downloads([0], [late, 1], [late, 0], [late, 1], [late, 0], [late, 1])).toEqual([
      'ok',
      'ok',
      'ok',
      'ok',
      24 * 3600,
      24 * 3600,
    ]);
  });

  it('takes all pages of a version for one download, each once, in whatever order', () => {
    const late = 6 * DAY;
    const pages = [2, 1, 4, 3, 5].map((page) => [late, 0, page] as const);
    expect(downloads([0], ...pages, ...pages, ...pages, [late, 0, 6], [late, 0, 3], [late, 0, 7])).toEqual([
      ...Array<'ok'>(17).fill('ok'),
      24 * 3600,
      'ok',
    ]);
    expect(downloads([0], [late], [late, 0, 1], [late, 0, 2], [late], [late, 0, 3])).toEqual([
      'ok',
      'ok',
      'ok',
      'ok',
      'ok',
      24 * 3600,
    ]);
  });

  it('remembers pages as runs, a thousand at most (decisions X50)', () => {
    let state: State = quota.initial;
    const sizes: number[] = [];
    for (let page = 1; page <= 2100; page += 2) {
      for (const event of quota.decide(download(0, 0, page), state)) state = quota.evolve(state, event);
      sizes.push(state.last?.pages.length ?? 0);
    }
    expect(Math.max(...sizes)).toBe(1000);
    fc.assert(
      fc.property(fc.shuffledSubarray(Array.from({ length: 30 }, (_, at) => at + 1)), (pages) => {
        let after: State = quota.initial;
        for (const page of pages)
          for (const event of quota.decide(download(0, 0, page), after)) after = quota.evolve(after, event);
        const taken = (after.last?.pages ?? []).flatMap(([first, last]) =>
          Array.from({ length: last - first + 1 }, (_, at) => first + at),
        );
        expect(taken).toEqual(pages.toSorted((a, b) => a - b));
        expect(after.last?.begun ?? []).toHaveLength(Math.min(1, pages.length));
      }),
    );
  });
});

describe('a long stream of downloads', () => {
  it('is decided by its first and its last two events', async () => {
    await withLog(async (log) => {
      const stream = `download-${quotaId({ feedId: 22, organisationId: 7 })}`;
      for (let at = 0; at < 20; at += 1) {
        await log.append(stream, at === 0 ? NO_STREAM : at - 1, [toNewEvent(of(at, [at]), randomUUID())]);
      }
      let read = 0;
      const counted = overrideLog(log, {
        async *readStream(...args) {
          for await (const events of log.readStream(...args)) {
            read += events.length;
            yield events;
          }
        },
      });
      const { events } = await execute(SYSTEM_CLOCK, counted, quota, '22-7', download(19 * HOUR + 1, 0));
      expect(events).toMatchObject([{ data: { begun: [19 * HOUR, 19 * HOUR + 1].map(timeOf) } }]);
      expect(read).toBe(3);
    });
  });

  it('counts a download, even if other processes are faster a few times', async () => {
    await withLog(async (log) => {
      let conflicts = 0;
      const contested = overrideLog(log, {
        append: async (stream, expected, events) => {
          // Another process counts a download first.
          if (conflicts < 3)
            await log.append(stream, expected, [toNewEvent(of(conflicts, [conflicts]), randomUUID())]);
          conflicts += 1;
          return await log.append(stream, expected, events);
        },
      });
      const clock = new TestClock(() => new Date(timeOf(4 * HOUR)));
      const { feedId, organisationId, version } = download(0, 0);
      const folder = join(tmpdir(), 'none');
      const counter = new DownloadCounter({ clock, log: contested, folder, report: () => undefined });
      const begin = async () => ({ release: () => undefined });
      await counter.count({ feedId, organisationId, version }, begin);
      expect(conflicts).toBe(4);
    });
  });

  it('gives up what has begun, if other downloads have used the quota up meanwhile', async () => {
    await withLog(async (log) => {
      const clock = new TestClock(() => new Date(timeOf(7 * DAY)));
      const stream = `download-${quotaId({ feedId: 22, organisationId: 7 })}`;
      await log.append(stream, NO_STREAM, [toNewEvent(of(0, [0]), randomUUID())]);
      const folder = join(tmpdir(), 'none');
      const counter = new DownloadCounter({ clock, log, folder, report: () => undefined });
      const { feedId, organisationId, version } = download(0, 1);
      let released = 0;
      const begin = async () => ({ release: () => (released += 1) });
      const another = () => counter.count({ feedId, organisationId, version }, begin);
      const late = counter.count({ feedId, organisationId, version }, async () => {
        for (let at = 0; at < 3; at += 1) await another();
        return await begin();
      });
      await expect(late).rejects.toMatchObject({ status: 429 });
      expect(released).toBe(1);
    });
  });

  it('is read for ever (test/golden)', () => {
    const stored = JSON.parse(
      readFileSync(join(__dirname, '../../golden/FeedDownloaded.json'), 'utf8'),
    ) as FeedDownloaded;
    const state = quota.evolve(quota.initial, stored);
    expect(state.first).toBe('2026-01-05T08:00:00.000Z');
    const at = '2026-01-05T09:00:00.000Z';
    const { version, feedId, organisationId } = stored.data;
    expect(
      quota.decide({ feedId, organisationId, version, page: 4, at, recordedAt: version }, state),
    ).toEqual([{ type: 'FeedDownloaded', data: { ...stored.data, at, pages: [[1, 4]] } }]);
  });
});
