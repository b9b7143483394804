import fc from 'fast-check';
import {
  type Cursor,
  EVERYTHING,
  type GroupSearch,
  type Order,
  type Search,
} from '../../../src/kernel/query';
import { type ReadStore } from '../../../src/kernel/read-store';
import { oracleOf } from '../../support/oracle';
import { generatedDocuments, LOOSE, OFFERS, realDocuments } from './documents';
import { queriesFor } from './queries';
import { at, live, put, type Subject } from './subject';

const ORDERS = (
  [
    [],
    [{ field: 'price' }],
    [{ field: 'price', descending: true }],
    [{ field: 'stock', descending: true }, { field: 'modified' }],
    [{ field: 'label' }],
    [{ field: 'price' }, { field: 'label', descending: true }],
    [
      { matches: ['red', 'shoe', 'run'], within: 'title', descending: true },
      { field: 'modified', descending: true },
    ],
  ] satisfies Order[][]
).map((order) => ({ order }));

/** Pages until there is no next one. */
async function pages<Page>(read: (after: Cursor | null) => Promise<{ page: Page; next?: Cursor }>) {
  const all: Page[] = [];
  for (let after: Cursor | null | undefined = null; after !== undefined;) {
    const { page, next }: { page: Page; next?: Cursor } = await read(after);
    all.push(page);
    after = next;
  }
  return all;
}

export function paging(subject: Subject): void {
  const real = realDocuments();
  const cases = [
    { of: 'generated documents', spec: OFFERS, documents: generatedDocuments() },
    { of: 'generated documents without a partition', spec: LOOSE, documents: generatedDocuments() },
    ...(real === undefined ? [] : [{ of: 'the real products', spec: OFFERS, documents: real }]),
  ];

  describe.each(cases)('over $of', ({ spec, documents }) => {
    let store: ReadStore;
    const target = { collection: spec.name };
    const oracle = oracleOf(documents);
    const queries = queriesFor(documents);
    const sizes = fc.constantFrom(Math.ceil(documents.length / 4), Math.ceil(documents.length / 9), 9_999);

    beforeAll(async () => {
      store = await subject.open();
      await live(store, spec);
      await put(store, target, documents);
    });
    afterAll(subject.close);

    const searched = (search: Search) =>
      pages(async (after) => {
        const { total, found, ...rest } = await store.search(target, { ...search, offset: 0, after });
        return { page: { total, ids: found.map(({ id }) => id) }, ...rest };
      });
    const grouped = (search: GroupSearch) =>
      pages(async (after) => {
        const { total, groups, ...rest } = await store.searchGroups(target, { ...search, offset: 0, after });
        return { page: { total, ids: groups.map((group) => group.map(({ id }) => id)) }, ...rest };
      });

    it('finds everything once and in order, in full pages except the last', () =>
      fc.assert(
        fc.asyncProperty(queries.search, sizes, async (search, size) => {
          const whole = oracle.search({ ...search, offset: 0, size: Infinity });
          const got = await searched({ ...search, size });
          expect(got.flatMap(({ ids }) => ids)).toEqual(whole.ids);
          expect(got.map(({ total }) => total)).toEqual(got.map(() => whole.total));
          expect(got).toHaveLength(Math.max(1, Math.ceil(whole.total / size)));
        }),
        { numRuns: 60 },
      ));

    it('finds all groups once and in order', () =>
      fc.assert(
        fc.asyncProperty(queries.groupSearch, fc.constantFrom(1, 2, 3, 9_999), async (search, least) => {
          const whole = oracle.searchGroups({ ...search, offset: 0, size: Infinity });
          const size = Math.max(least, Math.ceil(whole.total / 6));
          const got = await grouped({ ...search, size });
          expect(got.flatMap(({ ids }) => ids)).toEqual(whole.ids);
          expect(got.map(({ total }) => total)).toEqual(got.map(() => whole.total));
          expect(got).toHaveLength(Math.max(1, Math.ceil(whole.total / size)));
        }),
        { numRuns: 60 },
      ));

    it.each(ORDERS)('continues at the cursor with any page sizes, by $order', async ({ order }) => {
      const search = { filter: EVERYTHING, order, offset: 0 };
      const whole = oracle.search({ ...search, size: Infinity });
      const ids: string[] = [];
      let size = 0;
      for (let after: Cursor | null | undefined = null; after !== undefined;) {
        size = Math.ceil(documents.length / 20) + (size % 7);
        const { found, next }: Awaited<ReturnType<ReadStore['search']>> = await store.search(target, {
          ...search,
          size,
          after,
        });
        ids.push(...found.map(({ id }) => id));
        after = next;
      }
      expect(ids).toEqual(whole.ids);
    });
  });

  it.each(ORDERS)(
    'what is not changed between pages is found once and in order, by $order',
    async ({ order }) => {
      const store = await subject.open();
      await live(store, OFFERS);
      const target = { collection: OFFERS.name };
      const documents = generatedDocuments(300);
      await put(store, target, documents.slice(0, 200));
      const search = { filter: EVERYTHING, order, offset: 0, size: 40 };
      const changed = new Set(documents.slice(150).map(({ id }) => id));
      const ids: string[] = [];
      let version = 1;
      for (let after: Cursor | null | undefined = null; after !== undefined;) {
        const { found, next }: Awaited<ReturnType<ReadStore['search']>> = await store.search(target, {
          ...search,
          after,
        });
        ids.push(...found.map(({ id }) => id));
        after = next;
        version += 1;
        const others = documents.slice(150).filter((_, n) => (n + version) % 4 === 0);
        await store.write(
          target,
          others.map((document, n) =>
            n % 3 === 0
              ? { remove: document.id, partition: document.fields['feedId'] as number, version: at(version) }
              : {
                  put: { ...document, fields: { ...document.fields, price: version } },
                  version: at(version),
                },
          ),
          at(version),
        );
        await store.refresh(target);
      }
      const still = oracleOf(documents.slice(0, 150)).search({ ...search, size: Infinity }).ids;
      expect(ids.filter((id) => !changed.has(id))).toEqual(still);
      await subject.close();
    },
  );
}
