import fc from 'fast-check';
import { type Cursor, EVERYTHING, type GroupOrder, type GroupSearch } from '../../../src/kernel/query';
import { type Document, type ReadStore } from '../../../src/kernel/read-store';
import { oracleOf } from '../../support/oracle';
import { generatedDocuments, OFFERS } from './documents';
import { queriesFor } from './queries';
import { at, live, put, type Subject } from './subject';

const DOCUMENTS = 3_000;
const target = { collection: OFFERS.name };

/** Half are alone in their group, a tenth share one, and the others are in groups of two or three. */
function groupOf(index: number): string {
  if (index % 2 === 0) return `alone ${index}`;
  return index % 10 === 1 ? 'many' : `few ${index % 1_001}`;
}

const newest = { field: 'modified', descending: true, by: 'greatest' } as const;
const relevance = (...matches: string[]): GroupOrder => ({
  matches,
  within: 'title',
  descending: true,
  by: 'greatest',
});
const ORDERS = (
  [
    [],
    [{ field: 'price', by: 'least' }],
    [{ field: 'price', by: 'least', descending: true }],
    [newest],
    [{ field: 'modified', by: 'greatest' }],
    [relevance('red'), newest],
    [relevance('red', 'run', 'nowhere'), newest],
    [
      { field: 'price', by: 'greatest' },
      { field: 'label', by: 'least', descending: true },
    ],
  ] satisfies GroupOrder[][]
).map((order) => ({ order }));

/** Searches for groups of more documents than an engine may want to read for each. */
export function grouping(subject: Subject): void {
  let store: ReadStore;
  let documents: Document[];
  let oracle: ReturnType<typeof oracleOf>;
  const generated = generatedDocuments(DOCUMENTS).map((document, index): Document => ({
    ...document,
    fields: { ...document.fields, groupId: groupOf(index) },
  }));
  const queries = queriesFor(generated);

  beforeAll(async () => {
    store = await subject.open();
    await live(store, OFFERS);
    await put(store, target, generated);
    const removed = generated.filter((_, index) => index % 13 === 0);
    await store.write(
      target,
      removed.map(({ id, fields }) => ({
        remove: id,
        partition: fields['feedId'] as number,
        version: at(2),
      })),
      at(2),
    );
    await store.refresh(target);
    documents = generated.filter((document) => !removed.includes(document));
    oracle = oracleOf(documents);
  });
  afterAll(subject.close);

  const searched = async (search: GroupSearch) => {
    const { total, groups } = await store.searchGroups(target, search);
    return { total, ids: groups.map((group) => group.map(({ id }) => id)) };
  };
  const products = { groupBy: 'groupId', within: [{ field: 'price' }], members: 20 } as const;

  it.each(ORDERS)('in pages of any depth, by $order (decisions P8)', async ({ order }) => {
    const search = { ...products, filter: EVERYTHING, order };
    for (const [offset, size] of [
      [0, 1],
      [0, 100],
      [150, 30],
      [990, 10],
      [1_700, 500],
      [5_000, 10],
    ] as const)
      expect(await searched({ ...search, offset, size })).toEqual(
        oracle.searchGroups({ ...search, offset, size }),
      );
  });

  it.each(ORDERS)('page by page, by $order', async ({ order }) => {
    const search = { ...products, filter: { field: 'feedId', in: [1, 2, 7] }, order, offset: 0, size: 190 };
    const { total, ids } = oracle.searchGroups({ ...search, size: Infinity });
    const found: string[][] = [];
    for (let after: Cursor | null | undefined = null; after !== undefined;) {
      const page: Awaited<ReturnType<ReadStore['searchGroups']>> = await store.searchGroups(target, {
        ...search,
        after,
      });
      expect(page.total).toBe(total);
      found.push(...page.groups.map((group) => group.map(({ id }) => id)));
      after = page.next;
    }
    expect(found).toEqual(ids);
  });

  it('of any search', () =>
    fc.assert(
      fc.asyncProperty(queries.groupSearch, fc.constantFrom(0, 40, 400, 1_200), async (search, offset) => {
        const wanted = { ...search, offset };
        expect(await searched(wanted)).toEqual(oracle.searchGroups(wanted));
      }),
      { numRuns: 100 },
    ));

  it('after any of its groups', () =>
    fc.assert(
      fc.asyncProperty(queries.groupSearch, fc.nat(2_000), async (search, offset) => {
        const order = search.order.slice(0, 2);
        const whole = { ...search, order, offset: 0, size: Infinity };
        const { ids } = oracle.searchGroups(whole);
        if (ids.length < 2) return;
        const size = 1 + (offset % (ids.length - 1));
        const { next } = await store.searchGroups(target, { ...whole, size, after: null });
        const page = await store.searchGroups(target, { ...whole, size: 25, after: next! });
        expect(page.groups.map((group) => group.map(({ id }) => id))).toEqual(ids.slice(size, size + 25));
      }),
      { numRuns: 60 },
    ));
}
