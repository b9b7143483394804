import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, type RecordedEvent, START, streamOf } from '../../../src/kernel/event';
import { APPEND_LIMITS, type EventLog } from '../../../src/kernel/event-log';
import { Directory } from '../../../src/network/directory';
import { FEED } from '../../../src/domain/products/feed';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { catchUp, FingerprintCache } from '../../../src/services/products/load/fingerprint-cache';
import { Loader, type LoadResult } from '../../../src/services/products/load/loader';
import { FeedWriter, type WriteItem } from '../../../src/services/products/load/feed-writer';
import { digestOf, Fingerprints } from '../../../src/domain/products/fingerprints';
import { product } from '../../api/posted';
import { TestClock } from '../../support/clock';
import { FeedHistory } from '../../support/feed-history';
import { startEsdbServer } from '../../support/esdb-server';
import { logFolder } from '../../support/log-folder';
import { overrideLog, withLog } from '../../support/temporary-log';

/** Counted as if it were large: so many products make a batch. */
const TEXT_BYTES = 180_000;
const IN_A_BATCH = 4;
const ENDLESS = new AbortController().signal;

/** A product as it was posted: several feeds' worth of versions of the same few products. */
interface Posted {
  readonly id: string;
  readonly version: number;
}

function itemOf({ id, version }: Posted): WriteItem {
  const text = Buffer.from(JSON.stringify({ version }));
  const product = { sourceProductId: id, price: 1, content: digestOf(text) };
  return { kind: 'post', product, posted: undefined, textBytes: TEXT_BYTES, text: () => text };
}

/** A batch begins with a product of its own: where the log has that, the batch was decided. */
interface Batch {
  readonly marker: Posted;
  readonly posted: readonly Posted[];
}

/** How long (turns of the event loop) a process waits before each product and before each event that it reads. */
interface Pace {
  readonly adding: readonly number[];
  readonly reading: number;
}

const IDS = ['p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x'] as const;
const paces: fc.Arbitrary<Pace> = fc.record({
  adding: fc.array(fc.nat(12), { minLength: 1, maxLength: 12 }),
  reading: fc.nat(6),
});

/** What one process posts: each product once, in the order of a permutation. */
const loads = fc
  .record({
    ids: fc.shuffledSubarray([...IDS], { minLength: 3 }),
    versions: fc.array(fc.nat(2), { minLength: 9, maxLength: 9 }),
  })
  .map(({ ids, versions }) => ids.map((id, at) => ({ id, version: versions[at]! })));

function batchesOf(process: number, load: number, posted: readonly Posted[]): readonly Batch[] {
  const batches: Batch[] = [];
  for (let at = 0; at < posted.length; at += IN_A_BATCH - 1) {
    const marker = { id: `${process}-${load}-${at}`, version: 0 };
    batches.push({ marker, posted: posted.slice(at, at + IN_A_BATCH - 1) });
  }
  return batches;
}

async function wait(turns: number): Promise<void> {
  for (let left = turns; left > 0; left -= 1) await turn();
}

/** The log, read event by event at this pace. */
function slow(log: EventLog, turns: number): EventLog {
  return overrideLog(log, {
    async *readStream(stream, options = {}) {
      for await (const events of log.readStream(stream, { ...options, batchSize: 1 })) {
        await wait(turns);
        yield events;
      }
    },
  });
}

/** Loads all that one process posts, one load after the other, each with fingerprints of its own. */
async function load(
  log: EventLog,
  feedId: number,
  all: readonly (readonly Batch[])[],
  pace: Pace,
): Promise<void> {
  let added = 0;
  for (const batches of all) {
    const prints = new Fingerprints();
    await catchUp(SYSTEM_CLOCK, log, streamOf(FEED, feedId), prints);
    const writer = new FeedWriter(
      SYSTEM_CLOCK,
      slow(log, pace.reading),
      feedId,
      prints,
      '2026-05-01T12:00:00Z',
      ENDLESS,
    );
    for (const { marker, posted } of batches) {
      for (const product of [marker, ...posted]) {
        await wait(pace.adding[added++ % pace.adding.length]!);
        await writer.add(itemOf(product));
      }
    }
    await writer.settle();
    const { new: listed, revised, repriced, unchanged, removed } = writer.tally;
    const total = batches.reduce((sum, { posted }) => sum + 1 + posted.length, 0);
    expect(listed + revised + repriced + unchanged + removed).toBe(total);
  }
}

interface About {
  readonly sourceProductId: string;
  readonly product?: { readonly version: number };
}

/** Each product is as it was posted where its batch ends in the log, and no event says what was so before. */
function expectNothingLost(events: readonly RecordedEvent[], batches: readonly Batch[]): void {
  const byMarker = new Map(batches.map((batch) => [batch.marker.id, batch]));
  const versions = new Map<string, number>();
  let due: Batch | undefined;
  const settle = (): void => {
    for (const { id, version } of due?.posted ?? []) expect([id, versions.get(id)]).toEqual([id, version]);
  };
  for (const { type, data } of events) {
    const { sourceProductId: id, product } = JSON.parse(data) as About;
    const batch = byMarker.get(id);
    // A batch is appended as a whole, its marker first: it ends where the next marker is.
    if (batch !== undefined) {
      settle();
      due = batch;
    }
    expect([id, type]).toEqual([id, versions.has(id) ? 'ProductRevised' : 'ProductListed']);
    expect(versions.get(id)).not.toBe(product!.version);
    versions.set(id, product!.version);
  }
  settle();
}

async function streamEvents(log: EventLog, feedId: number): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for await (const events of log.readStream(streamOf(FEED, feedId))) all.push(...events);
  return all;
}

let feedId = 0;

async function expectTwoWritersLoseNothing(log: EventLog, numRuns: number): Promise<void> {
  const processes = fc.tuple(
    fc.record({ loads: fc.array(loads, { minLength: 1, maxLength: 2 }), pace: paces }),
    fc.record({ loads: fc.array(loads, { minLength: 1, maxLength: 4 }), pace: paces }),
  );
  await fc.assert(
    fc.asyncProperty(processes, async (both) => {
      feedId += 1;
      const feed = feedId;
      const batches = both.map((one, process) =>
        one.loads.map((posted, at) => batchesOf(process, at, posted)),
      );
      await Promise.all(both.map(({ pace }, process) => load(log, feed, batches[process]!, pace)));
      const events = await streamEvents(log, feed);
      expect(events.map(({ revision }) => revision)).toEqual(events.map((_, at) => at));
      expectNothingLost(events, batches.flat(2));
    }),
    { numRuns },
  );
}

describe('two processes that load the same feed lose nothing when one is slow to catch up', () => {
  test('over SQLite', async () => {
    await withLog((log) => expectTwoWritersLoseNothing(log, 60));
  });

  test('over EventStoreDB', async () => {
    const server = await startEsdbServer();
    const log = await openEventStoreDb(server.url);
    await expectTwoWritersLoseNothing(log, 15);
    await log.close();
    await server.stop();
  });
});

/** A product of a body, by its id and its price. */
const bodyOf = (products: Readonly<Record<string, number>>): Buffer =>
  Buffer.from(
    JSON.stringify({
      products: Object.entries(products).map(([sourceProductId, price]) =>
        product(sourceProductId, { price, categories: [{ name: 'Lamps' }] }),
      ),
    }),
  );

type Act = (loader: Loader) => Promise<Pick<LoadResult, 'counts'>>;

function post(mode: 'update' | 'replace', products: Readonly<Record<string, number>>): Act {
  return async (loader) => {
    const id = await loader.open({ feedId: 1, mode, format: 'json', directoryPosition: START });
    await loader.write(id, bodyOf(products));
    return await loader.finish(id);
  };
}

function remove(which: readonly string[] | 'all'): Act {
  return (loader) => loader.remove(1, which);
}

/** As of a process of its own, which remembers no digests. */
function loaderOver(log: EventLog): Loader {
  const clock = new TestClock(() => new Date('2026-05-01T12:00:00Z'));
  return new Loader({
    ...{ clock, log, directory: new Directory(), spoolFolder: '/nowhere' },
    fingerprints: new FingerprintCache(clock, log, undefined),
    reached: async () => true,
  });
}

describe('a load or deletion that another one overtakes has the effect of one after the other (decisions X92)', () => {
  it.each<[what: string, act: Act, other: Act, at: number, listed: readonly string[], counts: object]>([
    [
      'a replacement',
      post('replace', { a: 1 }),
      post('update', { x: 1, y: 2 }),
      2,
      ['a'],
      { new: 1, removed: 2 },
    ],
    ['a deletion of everything', remove('all'), post('update', { x: 1, y: 2 }), 1, [], { removed: 2 }],
    [
      'a post of what is there',
      post('update', { x: 1, y: 2 }),
      remove(['x', 'y']),
      1,
      ['x', 'y'],
      { new: 2, unchanged: 0 },
    ],
  ])('%s', async (_, act, other, at, listed, counts) => {
    await withLog(async (log) => {
      const theirs = loaderOver(log);
      let appends = 0;
      const overtaken = overrideLog(log, {
        append: async (...asked) => {
          appends += 1;
          if (appends === at + 1) await other(theirs);
          return await log.append(...asked);
        },
      });
      const ours = loaderOver(overtaken);
      await post('update', { x: 1 })(ours);
      expect((await act(ours)).counts).toMatchObject(counts);
      const feed = await new FeedHistory().readNew(log, 1);
      expect(feed.duplicates).toEqual([]);
      expect([...feed.prices.keys()].sort()).toEqual(listed);
      expect(feed.events.filter((event) => /^(FeedImported|ProductsDeleted)/.test(event))).toHaveLength(3);
    });
  });
});

test.each(['update', 'replace'] as const)(
  'products that are there already stay or go together if a deletion overtakes a load: %s (decisions X92)',
  async (mode) => {
    await withLog(async (log) => {
      // As many as fill a batch of which nothing is appended.
      const known = Object.fromEntries(
        Array.from({ length: APPEND_LIMITS.events - 1 }, (_, at) => [`known-${at}`, 1]),
      );
      const theirs = loaderOver(log);
      await post('update', known)(theirs);
      let appends = 0;
      const ours = loaderOver(
        overrideLog(log, {
          append: async (...asked) => {
            appends += 1;
            if (appends === 1) await theirs.remove(1, 'all');
            return await log.append(...asked);
          },
        }),
      );
      const { counts } = await post(mode, { ...known, new: 1 })(ours);
      expect((await new FeedHistory().readNew(log, 1)).prices.size).toBe(APPEND_LIMITS.events);
      expect(counts).toMatchObject({ new: APPEND_LIMITS.events, unchanged: 0 });
    });
  },
);

describe('a load that always conflicts with other writers (decisions X92)', () => {
  test('appends nothing, fails as unavailable, and is completed by the same post', async () => {
    const { file, remove } = await logFolder();
    const { log } = await openLog(file, false);
    const stream = streamOf(FEED, 1);
    let others = 0;
    const overtaken = overrideLog(log, {
      async append(to, expected, events) {
        await log.append(to, others - 1, [
          toNewEvent({ type: 'ProductDelisted', data: { sourceProductId: `other-${others}` } }, randomUUID()),
        ]);
        others += 1;
        return log.append(to, expected, events);
      },
    });
    const post = async (over: EventLog): Promise<FeedWriter> => {
      const prints = new Fingerprints();
      await catchUp(SYSTEM_CLOCK, over, stream, prints);
      const writer = new FeedWriter(SYSTEM_CLOCK, over, 1, prints, '2026-05-01T12:00:00Z', ENDLESS);
      await writer.add(itemOf({ id: 'p', version: 1 }));
      await writer.settle();
      return writer;
    };

    await expect(post(overtaken)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('post it again'),
    });
    expect((await streamEvents(log, 1)).map(({ type }) => type)).toEqual(
      Array(others).fill('ProductDelisted'),
    );
    expect((await post(log)).tally).toMatchObject({ new: 1 });
    expect(NO_STREAM + others).toBeGreaterThan(5);
    await log.close();
    await remove();
  });
});
