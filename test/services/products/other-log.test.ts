import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, streamOf } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { FEED } from '../../../src/domain/products/feed';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import {
  catchUp,
  FingerprintCache,
  loadFingerprints,
  saveFingerprints,
} from '../../../src/services/products/load/fingerprint-cache';
import { Fingerprints } from '../../../src/domain/products/fingerprints';
import { FeedWriter } from '../../../src/services/products/load/feed-writer';
import { logFolder } from '../../support/log-folder';
import { overrideLog, withLog } from '../../support/temporary-log';

const STREAM = streamOf(FEED, 7);

type ProductChange = readonly [id: string, price: number];

const changes = (options: { minLength?: number; maxLength: number }) =>
  fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 9 })), options);

function eventOf([sourceProductId, price]: ProductChange) {
  const data = { sourceProductId, price, at: '2026-05-01T12:00:00Z', product: { name: sourceProductId } };
  return toNewEvent({ type: 'ProductListed', data }, randomUUID());
}

/** What is known of the products: their prices. */
function pricesIn(prints: Fingerprints): Readonly<Record<string, number>> {
  const ids = [...prints.listedIds()];
  return Object.fromEntries(ids.map((id) => [id, prints.priceOf(prints.find(id))]));
}

async function foldedFrom(log: EventLog): Promise<Fingerprints> {
  const prints = new Fingerprints();
  await catchUp(SYSTEM_CLOCK, log, STREAM, prints);
  return prints;
}

/** Two logs of one feed that are the same up to an event: one was restored from a backup, then each went on. */
async function withFork(
  [common, lost, since]: readonly (readonly ProductChange[])[],
  use: (logs: {
    readonly before: EventLog;
    readonly after: EventLog;
    readonly folder: string;
  }) => Promise<void>,
): Promise<void> {
  const { folder, remove } = await logFolder();
  const shared = common!.map(eventOf);
  await withLog((before) =>
    withLog(async (after) => {
      await before.append(STREAM, NO_STREAM, [...shared, ...lost!.map(eventOf)]);
      await after.append(STREAM, NO_STREAM, [...shared, ...since!.map(eventOf)]);
      await use({ before, after, folder });
    }),
  );
  await remove();
}

const forks = fc.tuple(
  changes({ maxLength: 4 }),
  changes({ minLength: 1, maxLength: 4 }),
  changes({ maxLength: 6 }),
);

describe('fingerprints of a log that was replaced by an older backup, or by another one', () => {
  test('are discarded and rebuilt when they are loaded from their file', async () => {
    await fc.assert(
      fc.asyncProperty(forks, (fork) =>
        withFork(fork, async ({ before, after, folder }) => {
          await saveFingerprints(join(folder, 'feed-7.fingerprints'), 7, await foldedFrom(before));
          const expected = pricesIn(await foldedFrom(after));
          const feeds = new FingerprintCache(SYSTEM_CLOCK, after, folder);
          expect(await feeds.use(7, async (prints) => pricesIn(prints))).toEqual(expected);
        }),
      ),
      { numRuns: 30 },
    );
  });

  test('are discarded and rebuilt while they are in memory', async () => {
    await fc.assert(
      fc.asyncProperty(forks, (fork) =>
        withFork(fork, async ({ before, after, folder }) => {
          let current = before;
          const log = overrideLog(before, { readStream: (...args) => current.readStream(...args) });
          const feeds = new FingerprintCache(SYSTEM_CLOCK, log, folder);
          await feeds.warm(7);
          current = after;
          const expected = pricesIn(await foldedFrom(after));
          expect(await feeds.use(7, async (prints) => pricesIn(prints))).toEqual(expected);
          expect(pricesIn(feeds.peek(7)!)).toEqual(expected);
        }),
      ),
      { numRuns: 15 },
    );
  });

  test('fail a load that was decided by them, and the same post completes it', async () => {
    await withFork(
      [
        [['a', 1]],
        [['a', 2]],
        [
          ['b', 1],
          ['b', 2],
        ],
      ],
      async ({ before, after }) => {
        const writer = async (prints: Fingerprints): Promise<FeedWriter> => {
          const { signal } = new AbortController();
          const writing = new FeedWriter(SYSTEM_CLOCK, after, 7, prints, '2026-05-01T12:00:00Z', signal);
          await writing.add({ kind: 'delist', product: { sourceProductId: 'a' } });
          await writing.settle();
          return writing;
        };
        await expect(writer(await foldedFrom(before))).rejects.toMatchObject({
          name: 'EngineUnavailable',
          message: expect.stringContaining('post it again'),
        });
        const again = await writer(await foldedFrom(after));
        expect(again.tally.removed).toBe(1);
      },
    );
  });

  test('are not loaded from files of a version without event ids', async () => {
    const { folder, remove } = await logFolder();
    const path = join(folder, 'feed-7.fingerprints');
    await saveFingerprints(path, 7, new Fingerprints());
    const text = await readFile(path, 'latin1');
    await writeFile(path, text.replace('affilog-fingerprints-4', 'affilog-fingerprints-1'), 'latin1');
    expect(await loadFingerprints(path, 7)).toBeUndefined();
    expect(await readFile(path).catch(() => 'removed')).toBe('removed');
    await remove();
  });
});

test('a stream in which a revision is missing is reported as damaged, and nothing after it is folded', async () => {
  await withLog(async (log) => {
    await log.append(
      STREAM,
      NO_STREAM,
      (
        [
          ['a', 1],
          ['b', 2],
          ['c', 3],
        ] as const
      ).map(eventOf),
    );
    const gappy = overrideLog(log, {
      async *readStream(stream, options) {
        for await (const events of log.readStream(stream, options))
          yield events.filter(({ revision }) => revision !== 1);
      },
    });
    const prints = new Fingerprints();
    await expect(catchUp(SYSTEM_CLOCK, gappy, STREAM, prints)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('feed-7 has no event of revision 1'),
    });
    expect(pricesIn(prints)).toEqual({ a: 1 });
  });
});
