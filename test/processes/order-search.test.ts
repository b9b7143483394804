import { OrderSearch } from '../../src/processes/order-search';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { claimWorld } from '../api/claim-network';
import { transactionClientOf } from '../api/transaction-network';

const [NORD, CASA] = [1, 2];
const world = claimWorld();
const { create } = transactionClientOf(() => world.app);
let searches = 0;
let isDown = false;

function openSearch(): OrderSearch {
  const { store } = world.app.engines;
  const counting = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return name === 'search' ? count : (value.bind(target) as unknown);
    },
  });
  const count: ReadStore['search'] = async (...asked) => {
    searches += 1;
    if (isDown) throw new EngineUnavailable('down');
    return await store.search(...asked);
  };
  return OrderSearch.over(SYSTEM_CLOCK, counting);
}

beforeEach(() => {
  [searches, isDown] = [0, false];
});

describe('Searches for the orders of claims (decisions C5)', () => {
  it('share one search while another one runs, and each finds its own order', async () => {
    for (const order of ['o-1', 'o-2', 'o-3']) await create(order);
    await world.app.settled();
    const search = openSearch();
    const first = search.find(NORD, new Set(['o-1']));
    await Promise.resolve();
    const asked = Array.from({ length: 100 }, (_, at) => `o-${at}`);
    const found = await Promise.all(
      asked.map(async (order) => {
        const orders = await search.find(NORD, new Set([order]));
        return orders === 'unavailable' ? orders : (orders.get(order) ?? []).length;
      }),
    );
    expect(found).toEqual(asked.map((order) => (['o-1', 'o-2', 'o-3'].includes(order) ? 1 : 0)));
    await first;
    expect(searches).toBe(2);
    expect(await search.find(CASA, new Set(['o-1']))).toEqual(new Map());
  });

  it('does not share one with thousands of other orders', async () => {
    const search = openSearch();
    const many = new Set(Array.from({ length: 5_000 }, (_, at) => `many-${at}`));
    await Promise.all(
      [new Set(['a']), many, new Set(['b']), many].map((orders) => search.find(NORD, orders)),
    );
    expect(searches).toBe(4);
  });

  it('finds again after a failure', async () => {
    const search = openSearch();
    isDown = true;
    const failed = ['o-1', 'o-2'].map((order) => search.find(NORD, new Set([order])));
    expect(await Promise.all(failed)).toEqual(['unavailable', 'unavailable']);
    isDown = false;
    expect(await search.find(NORD, new Set(['o-1']))).not.toBe('unavailable');
  });
});
