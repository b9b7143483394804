import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECTIONS } from '../../projections';
import { products } from '../../projections/products';
import { NO_STREAM } from '../../src/kernel/event';
import { offerId } from '../../src/domain/products/offer';
import { type Filter } from '../../src/kernel/query';
import { type ReadStore, type Target } from '../../src/kernel/read-store';
import { importNetwork } from '../../src/operations/import-network';
import { rebuildProjections } from '../../src/operations/rebuild';
import { type SnapshotParts } from '../../src/operations/sql/snapshot';
import { type Projection } from '../../src/projector/projection';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { appendAtEnd, newEvent } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { folder, engines, parts, ask, type Sample, type Row, rows, rowsOf, filesIn } from './sql-session';

describe('Read models in SQL (decisions X115)', () => {
  const NETWORK = {
    organisations: [
      { id: 1, kind: 'advertiser', name: 'Nord' },
      { id: 2, kind: 'publisher', name: 'Preisblick' },
    ],
  };

  async function project(): Promise<void> {
    const runner = new Runner(engines.log, engines.store, PROJECTIONS, {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    await runner.start();
    await waitForPosition(SYSTEM_CLOCK, engines.store, PROJECTIONS, await engines.log.head(), 60_000);
    await runner.stop();
  }

  it('has when feeds were published as far as their read model has come, and says so', async () => {
    const append = async (...types: readonly string[]): Promise<void> => {
      for (const type of types) {
        const { stream, event } = golden<Sample>(type);
        const data = types.length > 2 ? event.data : { ...event.data, at: '2026-11-01T00:00:00.000Z' };
        await appendAtEnd(engines.log, stream, { ...newEvent(data), type });
      }
    };
    await append('ProgramDefined', 'FeedDefined', 'ProductListed', 'FeedImported');
    await project();
    const statement = 'SELECT published FROM feeds WHERE feedId = 301';
    const before = await ask(statement);
    await append('ProductListed', 'FeedImported');
    const behind = await ask(statement);
    expect([behind.text, behind.asOf.get('feeds')]).toEqual([before.text, before.asOf.get('feeds')]);
    await project();
    const { text, asOf } = await ask(statement);
    expect([text, asOf.get('feeds')]).toEqual([
      expect.stringContaining('2026-11-01'),
      await engines.log.head(),
    ]);
  });

  it('reads only what has changed since, and has the same as when all is read', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const voucher = golden<Sample>('VoucherPublished').event.data;
    const listed = (at: number, price: number) => ({ ...data, sourceProductId: `p${at}`, price });
    for (let at = 0; at < 20; at += 1)
      await appendAtEnd(engines.log, 'feed-1', { ...newEvent(listed(at, 100 + at)), type: 'ProductListed' });
    await engines.log.append('voucher-1', NO_STREAM, [{ ...newEvent(voucher), type: 'VoucherPublished' }]);
    await engines.log.append('voucher-2', NO_STREAM, [{ ...newEvent(voucher), type: 'VoucherPublished' }]);
    await rebuildProjections(engines, 'all');
    const read = async (of = parts): Promise<readonly (readonly Row[])[]> => [
      await rows('SELECT * FROM products ORDER BY ALL', { of }),
      await rows('SELECT * FROM price_history ORDER BY ALL', { of }),
      await rows('SELECT * FROM vouchers ORDER BY ALL', { of }),
    ];
    const [products] = await read();
    expect(products).toHaveLength(20);
    expect(products![0]).toMatchObject({ feedId: 1, name: (data['product'] as Row)['name'] });
    const scanned: unknown[] = [];
    const watched = new Proxy(engines.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const [of] = args as readonly [Target];
          if (name === 'scan' && of.collection !== 'parked') scanned.push(of);
          return Reflect.apply(value, target, args);
        };
      },
    });
    const changes = [
      { ...newEvent({ ...data, sourceProductId: 'p3', price: 5 }), type: 'ProductRepriced' },
      { ...newEvent({ at: '2026-02-01T00:00:00.000Z', sourceProductId: 'p4' }), type: 'ProductDelisted' },
      { ...newEvent(listed(30, 7)), type: 'ProductListed' },
      { ...newEvent(listed(4, 8)), type: 'ProductListed' },
    ];
    for (const change of changes) {
      await appendAtEnd(engines.log, 'feed-1', change);
      const at = '2026-02-01T00:00:00.000Z';
      await appendAtEnd(engines.log, 'voucher-2', { ...newEvent({ at }), type: 'VoucherWithdrawn' });
      await project();
      const changed = await read({ ...parts, store: watched });
      expect(scanned).toEqual([]);
      expect(changed).toEqual(await read({ ...parts, dataDir: join(folder, 'another') }));
      await rm(join(folder, 'another'), { recursive: true });
    }
    const [found, prices, vouchers] = await read();
    expect(found!.map(({ sourceProductId }) => sourceProductId)).toContain('p30');
    expect(found!.find(({ sourceProductId }) => sourceProductId === 'p3')).toMatchObject({ price: 0.05 });
    expect(prices!.filter(({ price }) => price === 0.05)).toHaveLength(1);
    expect(vouchers).toMatchObject([{ voucherId: 1 }]);
  }, 60_000);

  it('reads on behind the last file of a reading that was killed, and has what has changed since (decisions X116)', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const id = (at: number) => `p${String(at).padStart(3, '0')}`;
    const listed = (name: string, price: number) => ({
      ...newEvent({ ...data, sourceProductId: name, price }),
      type: 'ProductListed',
    });
    const all = Array.from({ length: 450 }, (_, at) => listed(id(at), 100 + at));
    await engines.log.append('feed-1', NO_STREAM, all);
    await rebuildProjections(engines, 'all');
    const begun: (string | undefined)[] = [];
    const killedAfter = (batches: number): SnapshotParts => ({
      ...parts,
      store: Object.create(engines.store, {
        scan: {
          async *value(target: Target, filter: Filter, after?: string) {
            if (target.collection !== 'parked') begun.push(after);
            let read = 0;
            for await (const batch of engines.store.scan(target, filter, after)) {
              if ((read += 1) > batches) throw new Error('killed');
              yield batch;
            }
          },
        },
      }) as ReadStore,
    });
    const statement = 'SELECT * FROM products ORDER BY ALL';
    for (const batches of [2, 1])
      await expect(ask(statement, { of: killedAfter(batches), segment: 100 })).rejects.toThrow('killed');
    const changes = [
      { ...newEvent({ ...data, sourceProductId: id(3), price: 5 }), type: 'ProductRepriced' },
      { ...newEvent({ at: '2026-02-01T00:00:00.000Z', sourceProductId: id(4) }), type: 'ProductDelisted' },
      { ...newEvent({ ...data, sourceProductId: id(440), price: 6 }), type: 'ProductRepriced' },
      listed('a', 7),
      listed('z', 8),
    ];
    for (const change of changes) await appendAtEnd(engines.log, 'feed-1', change);
    await project();
    const found = await ask(statement, { of: killedAfter(Infinity), segment: 100 });
    const ids = all.map((_, at) => offerId(1, id(at))).sort();
    expect(begun).toEqual([undefined, ids[199], ids[299]]);
    expect(found.asOf.get('products')).toBe(await engines.log.head());
    const last = rowsOf(found.text);
    expect(last).toHaveLength(451);
    await rm(join(folder, 'analytics'), { recursive: true });
    expect(await rows(statement)).toEqual(last);
    // Nothing is read again.
    await ask(statement, { of: killedAfter(0) });
    expect(begun).toHaveLength(3);
  });

  it('begins a reading again if the read model was built again since', async () => {
    const { data } = golden<Sample>('ProductListed').event;
    const all = Array.from({ length: 250 }, (_, at) => ({
      ...newEvent({ ...data, sourceProductId: `p${String(at).padStart(3, '0')}` }),
      type: 'ProductListed',
    }));
    await engines.log.append('feed-1', NO_STREAM, all);
    await rebuildProjections(engines, 'all');
    const statement = 'SELECT count(*) AS n, count(DISTINCT sourceProductId) AS ids FROM products';
    const stop = new AbortController();
    const store = Object.create(engines.store, {
      scan: {
        async *value(target: Target, filter: Filter, after?: string) {
          expect(after).toBeUndefined();
          let read = 0;
          for await (const batch of engines.store.scan(target, filter)) {
            yield batch;
            if ((read += 1) === 2) stop.abort(new Error('killed'));
          }
        },
      },
    }) as ReadStore;
    const options = { of: { ...parts, store }, segment: 100 };
    await expect(ask(statement, { ...options, signal: stop.signal })).rejects.toThrow('killed');
    await rebuildProjections(engines, 'all');
    expect(await rows(statement, options)).toEqual([{ n: 250, ids: 250 }]);
  });

  it('has documents as they are once they were retried, which no event tells', async () => {
    let isFixed = false;
    const picky = {
      ...products,
      fold(...[before, event]: Parameters<typeof products.fold>) {
        if (!isFixed && (event.data as { readonly price?: number }).price === 13) throw new Error('thirteen');
        return products.fold(before, event);
      },
    } as Projection;
    const settle = async (code: string): Promise<void> => {
      const runner = new Runner(engines.log, engines.store, [picky], {
        clock: SYSTEM_CLOCK,
        owner: 'test',
        code,
      });
      await runner.start();
      await waitForPosition(SYSTEM_CLOCK, engines.store, [picky], await engines.log.head(), 60_000);
      await runner.stop();
    };
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const emit = async (type: string, sourceProductId: string, price: number): Promise<void> =>
      await appendAtEnd(engines.log, 'feed-1', { ...newEvent({ ...data, sourceProductId, price }), type });
    await emit('ProductListed', 'a', 1);
    await emit('ProductRepriced', 'a', 13);
    await emit('ProductListed', 'b', 2);
    await emit('ProductRepriced', 'a', 3);
    await settle('broken');
    const prices = async (): Promise<unknown> =>
      (await rows('SELECT price FROM products ORDER BY sourceProductId')).map(({ price }) => price);
    expect(await prices()).toEqual([0.01, 0.02]);
    const files = await filesIn('products');
    expect(await prices()).toEqual([0.01, 0.02]);
    expect(await filesIn('products')).toEqual(files);
    isFixed = true;
    await settle('fixed');
    expect(await prices()).toEqual([0.03, 0.02]);
    await emit('ProductRepriced', 'b', 5);
    await settle('fixed');
    expect(await prices()).toEqual([0.03, 0.05]);
  }, 60_000);

  it('has when a transaction was approved, also once it is paid', async () => {
    const emit = async (type: string): Promise<void> => {
      const { event } = golden<Sample>(type);
      await appendAtEnd(engines.log, 'transaction-t', { ...newEvent(event.data), type });
    };
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    for (const type of ['TransactionTrackedApproved', 'TransactionPaid']) await emit(type);
    await rebuildProjections(engines, 'all');
    const [row] = await rows('SELECT state, approved FROM transactions');
    const { at } = golden<Sample>('TransactionTrackedApproved').event.data;
    expect(row).toMatchObject({ state: 'Paid' });
    expect(Date.parse(String(row!['approved']))).toBe(Date.parse(String(at)));
  });

  it('says as of which position each is', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    await rebuildProjections(engines, 'all');
    const head = await engines.log.head();
    const { asOf } = await ask('SELECT * FROM Vouchers, sites');
    expect([...asOf]).toEqual([
      ['log', head],
      ['vouchers', head],
      ['sites', head],
    ]);
  });
});
