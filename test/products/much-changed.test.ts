import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../src/kernel/event';
import { APPEND_LIMITS } from '../../src/kernel/event-log';
import { eventAt } from '../../src/kernel/last-event';
import { type Response, TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from '../api/network';
import { clientOf, type FoundProduct, product } from '../api/posted';

const { german } = FEEDS;

let app: TestApp;
const { post } = clientOf(() => app);
beforeEach(async () => {
  app = await TestApp.start({ network: NETWORK });
  await post(german, [product('untouched')]);
});
afterEach(() => app.close());

async function download(keys = ''): Promise<Response> {
  await app.settled();
  return app.get(`/1.0/productsUnlimited;fid=${german}${keys}`, { token: TOKENS.preisblick });
}

/** Whether everything is sent. */
async function isWhole(next: unknown): Promise<boolean> {
  const { products } = (await download(`;since=${String(next)}`)).json<{ products: FoundProduct[] }>();
  return products.some(({ offers }) => offers[0]!.sourceProductId === 'untouched');
}

/** Delists products that there are not: as good as any events, and nothing is to be shown of them. */
async function delist(count: number): Promise<void> {
  const stream = `feed-${german}`;
  const { log } = app.engines;
  for (let left = count; left > 0; left -= APPEND_LIMITS.events) {
    const { revision = NO_STREAM } = (await eventAt(log, stream)) ?? {};
    const at = '2026-05-01T12:00:00.000Z';
    const events = Array.from({ length: Math.min(left, APPEND_LIMITS.events) }, (_, n) => ({
      id: randomUUID(),
      type: 'ProductDelisted',
      data: JSON.stringify({ sourceProductId: `p${left - n}`, at }),
      meta: JSON.stringify({ first: revision + 1 }),
    }));
    await log.append(stream, revision, events);
  }
}

test('everything is sent after more than 10,000 events that are more than a quarter of the products (decisions X51)', async () => {
  const next = (await download()).headers['x-next-since'];
  await delist(10_000);
  expect(await isWhole(next)).toBe(false);
  await delist(1);
  expect(await isWhole(next)).toBe(true);
});

test('everything is sent after a change of more than 1,000 categories (decisions X51)', async () => {
  const next = (await download()).headers['x-next-since'];
  const added = Array.from({ length: 1_001 }, (_, at) => {
    return { id: String(5_000 + at), parentId: null, names: { en: `Added ${at}` } };
  });
  await app.import({ ...NETWORK, categories: [...NETWORK.categories, ...added.slice(1)] });
  expect(await isWhole(next)).toBe(false);
  await app.import({ ...NETWORK, categories: [...NETWORK.categories, ...added] });
  expect(await isWhole(next)).toBe(true);
});
