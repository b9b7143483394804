import { randomUUID } from 'node:crypto';
import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { FEED, encodeChange } from '../../../src/domain/products/feed';
import { digestOf, Fingerprints } from '../../../src/domain/products/fingerprints';
import { NO_STREAM, streamOf } from '../../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { FingerprintCache, saveFingerprints } from '../../../src/services/products/load/fingerprint-cache';
import { withLog } from '../../support/temporary-log';

it('fingerprints in use are bounded, of an owner and of all, and others are evicted (decisions X100)', () =>
  withLog(async (log) => {
    const folder = await mkdtemp(join(tmpdir(), 'affilog-'));
    const prints = new Fingerprints();
    for (let at = 0; at < 5_000; at += 1) prints.set(`p${at}`, digestOf(''), 1, 'EUR');
    const fileOf = (feedId: number): string => join(folder, `feed-${feedId}.fingerprints`);
    // The tens are the owner.
    const feeds = [11, 12, 13, 14, 21, 22, 31, 41];
    for (const feedId of feeds) await saveFingerprints(fileOf(feedId), feedId, prints);
    const { size } = await stat(fileOf(11));
    const ownerOf = (feedId: number): string => String(feedId).charAt(0);
    const cache = new FingerprintCache(SYSTEM_CLOCK, log, folder, { ownerOf, memory: 2.5 * size });
    const started: number[] = [];
    const ends = new Map<number, () => void>();
    const uses = feeds.map((feedId) =>
      cache.use(feedId, async () => {
        started.push(feedId);
        await new Promise<void>((resolve) => ends.set(feedId, resolve));
      }),
    );
    const until = async (count: number): Promise<void> => {
      while (started.length < count) await turn();
      for (let more = 0; more < 100; more += 1) await turn();
    };
    await until(5);
    // Each starts while there is less than its owner may use, and than all may; files are read in any order.
    expect(started).toHaveLength(5);
    expect(started.filter((feedId) => ownerOf(feedId) === '1').length).toBeLessThanOrEqual(3);
    expect(feeds.filter((feedId) => cache.peek(feedId) !== undefined)).toHaveLength(5);
    for (let count = 1; count <= feeds.length; count += 1) {
      await until(count);
      const next = started[count - 1] ?? 0;
      ends.get(next)?.();
      await uses[feeds.indexOf(next)];
    }
    expect(started.sort()).toEqual(feeds);
    expect(feeds.filter((feedId) => cache.peek(feedId) !== undefined).length).toBeLessThanOrEqual(2);
    await cache.close();
  }));

/** Starts a use of each feed that ends when it is told to, and counts those that are in use at once. */
async function mostAtOnce(
  cache: FingerprintCache,
  feeds: readonly number[],
  posted?: number,
): Promise<number> {
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  let done = 0;
  const uses = feeds.map((feedId) =>
    cache.use(
      feedId,
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => ends.push(resolve));
        running -= 1;
        done += 1;
      },
      posted,
    ),
  );
  while (done < feeds.length) {
    for (let more = 0; more < 300; more += 1) await turn();
    ends.shift()?.();
  }
  await Promise.all(uses);
  return most;
}

const LISTED = 500;

it.each(['whose files are gone', 'that are posted to for the first time'])(
  'fingerprints of feeds %s count with what is known of the feeds (decisions X100)',
  (which) =>
    withLog(async (log) => {
      const folder = await mkdtemp(join(tmpdir(), 'affilog-'));
      const feeds = Array.from({ length: 12 }, (_, at) => at + 1);
      const isKnown = which === 'whose files are gone';
      const prints = new Fingerprints();
      const events = Array.from({ length: LISTED }, (_, at) => {
        const change = { sourceProductId: `p${at}`, price: 1, currency: 'EUR', content: digestOf('') };
        prints.set(change.sourceProductId, change.content, 1, 'EUR');
        return encodeChange(
          randomUUID(),
          { type: 'ProductListed', ...change },
          '2026-01-01T00:00:00.000Z',
          '{}',
        );
      });
      for (const feedId of isKnown ? feeds : [])
        await log.append(
          streamOf(FEED, feedId),
          NO_STREAM,
          events.map((event) => ({ ...event, id: randomUUID() })),
        );
      const cache = new FingerprintCache(SYSTEM_CLOCK, log, folder, {
        ownerOf: () => 'one',
        memory: 2.5 * prints.memory,
      });
      expect(await mostAtOnce(cache, feeds, isKnown ? undefined : LISTED)).toBeLessThanOrEqual(3);
      await cache.close();
    }),
);
