import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory } from '../../../src/network/directory';
import { type Engines, openEngines } from '../../../src/engines/open';
import { type NewEvent, START } from '../../../src/kernel/event';
import { type Appended, EngineUnavailable, EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import {
  feedLeases,
  type FeedLock,
  FingerprintCache,
} from '../../../src/services/products/load/fingerprint-cache';
import { Loader, type LoadResult } from '../../../src/services/products/load/loader';
import { TestClock } from '../../support/clock';
import { FeedHistory } from '../../support/feed-history';

const FEED = 22;

let folder: string;
let engines: Engines;
let loaders: Loader[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
  engines = await openEngines({
    dataDir: folder,
    eventLog: 'sqlite:',
    readStore: 'sqlite:',
    threads: false,
  });
  loaders = [];
});

afterEach(async () => {
  for (const loader of loaders) await loader.close();
  await engines.close();
  await rm(folder, { recursive: true });
});

/** A loader as another process has one: with fingerprints of its own. */
function newLoader(log: EventLog = engines.log, turns?: FeedLock): Loader {
  const own = join(folder, `process-${loaders.length}`);
  const loader = new Loader({
    log,
    fingerprints: new FingerprintCache(SYSTEM_CLOCK, log, join(own, 'cache'), { feedLock: turns }),
    spoolFolder: join(own, 'spool'),
    directory: new Directory(),
    reached: async () => true,
    clock: new TestClock(() => new Date('2026-05-01T12:00:00Z')),
  });
  loaders.push(loader);
  return loader;
}

interface Posted {
  readonly sourceProductId: string;
  readonly price: number;
}

/** Products of these numbers. */
function products(from: number, to: number, price = 1): Posted[] {
  return Array.from({ length: to - from }, (_, at) => ({ sourceProductId: `p${from + at}`, price }));
}

async function load(loader: Loader, posted: readonly Posted[], mode: 'update' | 'replace' = 'update') {
  const id = await loader.open({ feedId: FEED, mode, format: 'json', directoryPosition: START });
  const rest = {
    name: 'Lamp',
    description: 'A lamp',
    productUrl: 'https://shop.example/lamp',
    productImage: { url: 'https://img.example/lamp.png' },
    categories: [{ name: 'Lamps' }],
  };
  const body = JSON.stringify({ products: posted.map((one) => ({ ...one, ...rest })) });
  await loader.write(id, Buffer.from(body));
  return loader.finish(id);
}

const told = (): Promise<FeedHistory> => new FeedHistory().readNew(engines.log, FEED);

/** In minor units. */
function pricesOf(posted: readonly Posted[]): Map<string, number> {
  return new Map(posted.map(({ sourceProductId, price }) => [sourceProductId, price * 100]));
}

describe('Two processes that load one feed at the same time', () => {
  test('lose nothing and duplicate nothing, whichever appends a batch first', async () => {
    const both = products(0, 3000);
    await Promise.all([load(newLoader(), both), load(newLoader(), both)]);
    const { events, prices, duplicates, unchanged } = await told();
    expect(prices).toEqual(pricesOf(both));
    expect([duplicates, unchanged, events.length]).toEqual([[], 3000, 3002]);
  });

  test('decide a batch again when the other has changed its products meanwhile', async () => {
    await load(newLoader(), products(0, 2000));
    await Promise.all([
      load(newLoader(), products(0, 2000, 2)),
      load(newLoader(), products(500, 2500, 3)),
      load(newLoader(), products(2500, 3500, 4), 'update'),
    ]);
    const { prices, duplicates } = await told();
    expect(duplicates).toEqual([]);
    expect([...prices.keys()].toSorted()).toEqual([...pricesOf(products(0, 3500)).keys()].toSorted());
    for (let at = 0; at < 500; at += 1) expect(prices.get(`p${at}`)).toBe(200);
    for (let at = 500; at < 2000; at += 1) expect([200, 300]).toContain(prices.get(`p${at}`));
    for (let at = 2000; at < 3500; at += 1) expect(prices.get(`p${at}`)).toBe(at < 2500 ? 300 : 400);
  });

  test('exclude each other by a lease, so that no batch is decided twice', async () => {
    const [one, other] = [
      newLoader(engines.log, feedLeases(SYSTEM_CLOCK, engines.leases)),
      newLoader(engines.log, feedLeases(SYSTEM_CLOCK, engines.leases)),
    ];
    await Promise.all([load(one, products(0, 2000)), load(other, products(2000, 4000, 2), 'replace')]);
    const { events } = await told();
    const runs = events.filter((event, at) => event.split(' ')[2] !== events[at - 1]?.split(' ')[2]);
    expect(runs.length).toBe(4);
  });

  test('do not wait for leases that are unavailable', async () => {
    const { log } = engines;
    await engines.leases.close();
    const answers = await Promise.all(
      [products(0, 600), products(600, 1200)].map((some) =>
        load(newLoader(log, feedLeases(SYSTEM_CLOCK, engines.leases)), some),
      ),
    );
    expect(answers.map(({ changes }) => changes)).toEqual([600, 600]);
  });

  test('wait for a crashed one until its lease ends, and not at all once they are closed', async () => {
    await engines.leases.lease(`load-feed-${FEED}`, 'one that has died', Date.now, 600);
    const waited = performance.now();
    await load(newLoader(engines.log, feedLeases(SYSTEM_CLOCK, engines.leases)), products(0, 1));
    expect(performance.now() - waited).toBeGreaterThan(500);

    await engines.leases.lease(`load-feed-${FEED}`, 'another', Date.now, 600_000);
    const stopped = newLoader(engines.log, feedLeases(SYSTEM_CLOCK, engines.leases));
    const broken = load(stopped, products(0, 2)).catch((error: unknown) => error);
    await stopped.close();
    expect(await broken).toBeInstanceOf(EngineUnavailable);
  });
});

/** What becomes of an append: made and answered, made but not answered, not made. */
type Fate = 'answered' | 'unanswered' | 'failed';

/** The log, as it is behind a bad connection. */
class BadConnection extends EventLog {
  constructor(
    private readonly log: EventLog,
    private readonly fates: Fate[],
  ) {
    super();
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    const fate = this.fates.shift() ?? 'answered';
    const made = fate === 'failed' ? undefined : await this.log.append(stream, expected, events);
    if (made === undefined || fate === 'unanswered') throw new EngineUnavailable('gone');
    return made;
  }

  override readonly readStream: EventLog['readStream'] = (...args) => this.log.readStream(...args);
  override readonly readAll: EventLog['readAll'] = (...args) => this.log.readAll(...args);
  override readonly readAllBackwards: EventLog['readAllBackwards'] = (...args) =>
    this.log.readAllBackwards(...args);
  override readonly subscribe: EventLog['subscribe'] = (...args) => this.log.subscribe(...args);
  override readonly head: EventLog['head'] = () => this.log.head();
  override readonly close: EventLog['close'] = () => this.log.close();
}

test('A load whose appends fail or whose answers are lost fails or succeeds, and the same post completes it (decisions A12)', async () => {
  let edition = 0;
  const fates = fc.array(fc.constantFrom<Fate>('answered', 'unanswered', 'failed'), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fates, fates, async (some, others) => {
      edition += 1;
      const posted = products(edition * 100, edition * 100 + 700, edition);
      const answers = await Promise.all(
        [some, others].map((list) =>
          load(newLoader(new BadConnection(engines.log, [...list])), posted, 'replace').catch(
            (error: unknown) => error,
          ),
        ),
      );
      for (const answer of answers) {
        if (!(answer instanceof EngineUnavailable)) expect((answer as LoadResult).faults).toEqual([]);
      }
      await load(newLoader(), posted, 'replace');
      const { prices, duplicates } = await told();
      expect(duplicates).toEqual([]);
      expect(prices).toEqual(pricesOf(posted));
    }),
    { numRuns: 10 },
  );
});
