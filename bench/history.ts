import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { imports } from '../projections/imports';
import { priceHistory } from '../projections/price-history';
import { openEngines } from '../src/engines/open';
import { type NewEvent, NO_STREAM } from '../src/kernel/event';
import { APPEND_LIMITS, type EventLog } from '../src/kernel/event-log';
import { directoryAt } from '../src/network/directory';
import { historyOf } from '../src/operations/history/history';
import { prepareParked } from '../src/projector/parked';
import { buildGenerations } from '../src/projector/fill';
import { type Bench, type Figure, quantile, timed } from './harness';
import { memoryGrowth } from './process-memory';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
/** Products whose history is read, and events of each: they are spread over the stream. */
const [READ, EVENTS] = [100, 20] as const;
const FEED = 1;
/** Limits: milliseconds, megabytes that the process grows by. */
const GOALS = { time: 100, memory: 300 } as const;

/** Histories of products in a feed of ten times the count: the time of each, p99, and what the process grows by. */
export async function* history(bench: Bench): AsyncGenerator<Figure> {
  const dataDir = join(bench.folder, 'history');
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: true, readers: 0 };
  const engines = await openEngines(settings);
  const { log, store } = engines;
  try {
    await appendFeed(log, bench.count * TIMES);
    await prepareParked(store);
    const options = { code: 'bench', until: await log.head(), onBatch: async () => undefined };
    for (const { generation } of await buildGenerations(log, store, [priceHistory, imports], options)) {
      await store.finish(generation);
      await store.swap(generation);
    }

    const parts = { log, store, directory: await directoryAt(log) };
    const growth = memoryGrowth(process.pid);
    const times: number[] = [];
    for (let product = 0; product < READ; product += 1) {
      let events = 0;
      const subject = { kind: 'product', feedId: String(FEED), sourceProductId: `h${product}` } as const;
      times.push(
        await timed(async () => {
          for await (const { changes } of await historyOf(parts, subject, {}))
            if (Object.keys(changes).length > 0) events += 1;
        }),
      );
      if (events !== EVENTS) throw new Error(`h${product} has ${events} events`);
    }
    const [time, memory] = [quantile(times, 0.99), Math.max(1, growth())];
    yield { ...atMost('history p99', time, GOALS.time), unit: 'ms' };
    yield { ...atMost('history memory', memory, GOALS.memory), unit: 'MB' };
  } finally {
    await engines.close();
  }
}

function atMost(figure: string, measured: number, limit: number) {
  return { figure, measured, limit, ratio: limit / measured, goal: 1 };
}

/** All products are listed; those that are read are repriced again and again, every time after a part of the others. */
async function appendFeed(log: EventLog, products: number): Promise<void> {
  const part = Math.ceil((products - READ) / (EVENTS - 1));
  let revision = NO_STREAM;
  let batch: NewEvent[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length > 0) ({ revision } = await log.append(`feed-${FEED}`, revision, batch));
    batch = [];
  };
  const add = async (event: NewEvent): Promise<void> => {
    if (batch.push(event) === APPEND_LIMITS.events) await flush();
  };
  for (let product = 0; product < products; product += 1) {
    await add(listed(product));
    if (product < READ || (product - READ + 1) % part !== 0) continue;
    for (let read = 0; read < READ; read += 1) await add(repriced(read, product));
  }
  const rounds = Math.floor((products - READ) / part);
  for (let round = rounds; round < EVENTS - 1; round += 1)
    for (let read = 0; read < READ; read += 1) await add(repriced(read, round));
  await flush();
}

const AT = '2026-01-01T00:00:00.000Z';
/** As large as a usual one. */
const PRODUCT = JSON.stringify({
  name: 'Wall lamp',
  description: 'Brass, 40 cm. '.repeat(40),
  productUrl: 'https://shop.example/p/7',
  productImage: { url: 'https://img.example/7.png' },
  categories: [{ name: 'Lamps' }],
});

function headOf(product: number, price: number): string {
  return `{"sourceProductId":"h${product}","price":${price},"currency":"EUR","at":"${AT}"`;
}

function listed(product: number): NewEvent {
  const meta = `{"content":"${'0f'.repeat(16)}"}`;
  const data = `${headOf(product, 1000)},"product":${PRODUCT}}`;
  return { id: randomUUID(), type: 'ProductListed', data, meta };
}

function repriced(product: number, price: number): NewEvent {
  return { id: randomUUID(), type: 'ProductRepriced', data: `${headOf(product, 1001 + price)}}`, meta: '{}' };
}
