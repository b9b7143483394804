import { EVERYTHING, type GroupSearch } from '../../src/kernel/query';
import { type Document } from '../../src/kernel/read-store';
import { type StoreFixture } from '../contracts/read-store';
import { LOOSE } from '../contracts/read-store/documents';
import { live, put } from '../contracts/read-store/subject';
import { oracleOf } from '../support/oracle';
import { storeFixture } from './server';

/** More groups of several documents than one answer of the server counts. */
const PAIRS = 10_100;
const ALONE = 500;
const target = { collection: LOOSE.name };

const documents: readonly Document[] = Array.from({ length: 2 * PAIRS + ALONE }, (_, n) => ({
  id: `d${String((n * 7_919) % 100_003).padStart(6, '0')}`,
  fields: {
    price: n % 97,
    modified: n % 5 === 0 ? n : 0,
    groupId: n < 2 * PAIRS ? `pair ${n % PAIRS}` : `alone ${n}`,
  },
  body: String(n),
}));

describe('An Elasticsearch with more groups of several documents than one answer counts', () => {
  let fixture: StoreFixture;
  beforeAll(async () => {
    fixture = await storeFixture();
    await live(fixture.store, LOOSE);
    await put(fixture.store, target, documents);
  });
  afterAll(() => fixture.close());

  const products = { groupBy: 'groupId', within: [{ field: 'price' }], members: 5 } as const;
  const oracle = oracleOf(documents);
  const searched = async (search: GroupSearch) => {
    const { total, groups } = await fixture.store.searchGroups(target, search);
    return { total, ids: groups.map((group) => group.map(({ id }) => id)) };
  };

  test.each<[string, GroupSearch['order']]>([
    ['cheapest', [{ field: 'price', by: 'least' }]],
    ['dearest', [{ field: 'price', by: 'least', descending: true }]],
    ['newest', [{ field: 'modified', by: 'greatest', descending: true }]],
    ['oldest', [{ field: 'modified', by: 'greatest' }]],
  ])('counts all exactly and finds the %s (decisions P8)', async (_, order) => {
    for (const offset of [0, 9_900]) {
      const search = { ...products, filter: EVERYTHING, order, offset, size: 100 };
      const found = await searched(search);
      expect(found.total).toBe(PAIRS + ALONE);
      expect(found).toEqual(oracle.searchGroups(search));
    }
  });
});
