import { EVERYTHING, oneAnswer, type QueryOptions } from '../../../src/kernel/query';
import { type Generation, type ReadStore } from '../../../src/kernel/read-store';
import { searchGroupsInParts, searchInParts } from '../../../src/projector/search-in-parts';
import { at, freshForEach, live, put, type Subject } from './subject';
import { LOOSE } from './documents';

const DOCUMENTS = 300;
const target = { collection: LOOSE.name };
/** With more than one answer may hold in memory. */
const BODY = 20_000;

/** Answers that take several queries while another generation becomes live. */
export function answering(subject: Subject): void {
  let store: ReadStore;
  let next: Generation;
  freshForEach(subject);
  beforeEach(async () => {
    store = subject.store();
    await live(store, LOOSE);
    await put(store, target, marked('old'));
    next = await store.create(LOOSE);
    await put(store, { ...target, generation: next.number }, marked('new'));
    await store.finish(next);
  });

  const marked = (brand: string) =>
    Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: `d${String(n).padStart(3, '0')}`,
      fields: { price: n, groupId: `g${Math.floor(n / 3)}`, brand },
      body: `${brand} ${'x'.repeat(BODY)}`,
    }));
  const read = ({ body }: { readonly body: string }): string => body.slice(0, 3);
  const page = { filter: EVERYTHING, order: [{ field: 'price' }], offset: 0, size: DOCUMENTS } as const;
  const grouped = {
    ...page,
    order: [{ by: 'least', field: 'price' }],
    ...{ groupBy: 'groupId', within: [{ field: 'price' }], members: 3 },
  } as const;

  it.each([
    ['a page', (query: QueryOptions) => searchInParts({ store, target, read }, page, query), DOCUMENTS],
    [
      'a page of groups',
      (query: QueryOptions) => searchGroupsInParts({ store, target, read }, { ...grouped, size: 100 }, query),
      DOCUMENTS,
    ],
  ])('%s in parts', async (_, search, count) => {
    const found = await search({});
    await store.swap(next);
    const marks: string[] = [];
    for await (const batch of found.groups) marks.push(...batch.flat());
    expect(marks).toHaveLength(count);
    expect(new Set(marks)).toEqual(new Set(['old']));
    const later: string[] = [];
    for await (const batch of (await search({})).groups) later.push(...batch.flat());
    expect(new Set(later)).toEqual(new Set(['new']));
  });

  const facets = [{ field: 'brand', size: 5 }] as const;
  const totals = { filter: EVERYTHING, by: ['groupId'], sums: [] } as const;
  const groups = { filter: EVERYTHING, groupBy: 'groupId', size: 1 };
  /** Each query as what it shows of a generation. */
  const queries: Readonly<Record<string, (query: QueryOptions) => Promise<string | undefined>>> = {
    get: async (query) => (await store.get(target, ['d001'], query)).map(read)[0],
    search: async (query) => (await store.search(target, { ...page, size: 1 }, query)).found.map(read)[0],
    searchGroups: async (query) =>
      (await store.searchGroups(target, { ...grouped, size: 1 }, query)).groups.flat().map(read)[0],
    countGroups: async (query) =>
      (await store.countGroups(target, groups, query)).groups.map(({ one }) => read(one))[0],
    countValues: async (query) =>
      (await store.countValues(target, { filter: EVERYTHING, facets }, query))[0]?.map(({ value }) =>
        String(value),
      )[0],
    totals: async (query) =>
      (await store.totals(target, { ...totals, filter: { field: 'brand', in: ['old'] } }, query)).length > 0
        ? 'old'
        : 'new',
  };

  it('of any queries: all read the generation that the first one has read', async () => {
    const answers = await Promise.all(
      Object.values(queries).map(async (query) => {
        const answer = oneAnswer();
        await query(answer);
        return answer;
      }),
    );
    await store.swap(next);
    for (const answer of answers)
      for (const [name, query] of Object.entries(queries))
        expect([name, await query(answer)]).toEqual([name, 'old']);
    for (const [name, query] of Object.entries(queries)) {
      expect([name, await query({})]).toEqual([name, 'new']);
      expect([name, await query(oneAnswer())]).toEqual([name, 'new']);
    }
  });

  it('of an empty result first', async () => {
    const answer = oneAnswer();
    const none = { ...page, filter: { field: 'brand', in: ['none'] } };
    expect(await store.search(target, none, answer)).toMatchObject({ total: 0 });
    await store.swap(next);
    expect(await queries['countValues']!(answer)).toBe('old');
  });

  it('refused once their generation is dropped, or continued with it, never with another', async () => {
    const [old] = await store.generations(LOOSE.name);
    const answer = oneAnswer();
    await queries['search']!(answer);
    await store.swap(next);
    await store.drop(old!);
    for (const query of Object.values(queries))
      await query(answer).then(
        (found) => expect(found).toBe('old'),
        (error: unknown) => expect(error).toMatchObject({ name: 'NoGeneration', collection: LOOSE.name }),
      );
    expect(await queries['search']!(oneAnswer())).toBe('new');
    await store.write(target, [], at(9));
  });
}
