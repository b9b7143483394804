import { vouchers } from '../../projections/vouchers';
import { type StoredVoucher } from '../../src/domain/vouchers/stored-voucher';
import { TestApp } from '../support/app';
import { OVER_SERVERS } from '../support/engines';
import { inRandomOrder } from '../support/random-order';
import { DAY, idsOf, NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

let app: TestApp;
const { list } = voucherClientOf(() => app);

/** More than a read store counts from the first result, on SQLite twice as many. */
const MANY = OVER_SERVERS ? 12_000 : 22_600;
/** Each ninth is of a program that the caller's site is not connected to. */
const seen = Array.from({ length: MANY }, (_, at) => at + 1).filter((id) => id % 9 > 0);
/** Thousands are updated at one moment: pages begin and end among them. */
const updatedOf = (id: number): number => NOW - 1 + (((id * 7919) % MANY) % 3);

function stored(id: number): StoredVoucher {
  const iso = (time: number): string => new Date(time).toISOString();
  const voucher = { title: 'Free', shortDescription: 'Free', description: 'x', voucherTypeId: 4 } as const;
  return {
    programId: id % 9 > 0 ? 101 : 102,
    sourceId: String(id),
    created: NOW,
    updated: updatedOf(id),
    voucher: { ...voucher, startDate: iso(NOW), endDate: iso(NOW + DAY) },
    currency: { currency: 'EUR' },
  };
}

/** Into the read model as it is: nothing that follows is about the log. */
async function fill(): Promise<void> {
  const { log, store } = app.engines;
  const target = { collection: vouchers.collection.name };
  const version = await log.head();
  for (let first = 1; first <= MANY; first += 2000) {
    const length = Math.min(2000, MANY - first + 1);
    const writes = Array.from({ length }, (_, at) => {
      const id = String(first + at);
      const { document, fields } = vouchers.describe(stored(first + at), id, app.follower.directory);
      return { version, put: { id, fields, body: JSON.stringify(document) } };
    });
    await store.write(target, writes);
  }
  await store.refresh(target);
}

beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
  await fill();
});
afterAll(() => app.close());

async function pagesOf(keys: string, numbers: readonly number[]): Promise<readonly number[]> {
  const ids: number[] = [];
  for (const page of numbers) ids.push(...idsOf(await list(`${keys};page=${page}`)));
  return ids;
}

it('a listing has 1,000 vouchers by default (Document 2, Limits: List pageSize default; decisions V16)', async () => {
  expect(await list()).toHaveLength(1000);
  expect(await list(';pageSize=5000', 'nord')).toHaveLength(1000);
  expect(await list(';pageSize=999')).toHaveLength(999);
});

const pages = Math.ceil(seen.length / 1000);

it('pages reach the last voucher, each on exactly one page, in order, with thousands of the same update time (decisions V12, X41)', async () => {
  const wanted = seen.toSorted((a, b) => updatedOf(b) - updatedOf(a) || b - a);
  expect(await pagesOf('', [...Array(pages).keys()])).toEqual(wanted);
  // One that lies across where a read store ends to count.
  expect(await pagesOf(';pageSize=997', [10])).toEqual(wanted.slice(9970, 10_967));
});

it('so do pages in a random order (decisions V6, X41)', async () => {
  const wanted = inRandomOrder(7, seen);
  expect(await pagesOf(';random=7', [0, pages - 2, pages - 1])).toEqual([
    ...wanted.slice(0, 1000),
    ...wanted.slice(1000 * (pages - 2)),
  ]);
});

it.each(['', ';random=7'])(
  'a page beyond the last one is empty, with keys "%s" (decisions X41)',
  async (keys) => {
    for (const page of [pages, Number.MAX_SAFE_INTEGER])
      expect(await list(`${keys};page=${page}`)).toEqual([]);
  },
);
