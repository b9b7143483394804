import { EVERYTHING, nothingSpent, QueryTooLong } from '../../../src/kernel/query';
import { type ReadStore } from '../../../src/kernel/read-store';
import { LOOSE } from './documents';
import { freshForEach, live, put, type Subject } from './subject';

const DOCUMENTS = 2_000;
const WORDS = Array.from({ length: 400 }, (_, n) => `w${n}`);

/** A query that takes a while: by how many of many words each document has. */
const slow = {
  filter: EVERYTHING,
  order: [{ matches: WORDS, within: 'title', descending: true }],
  offset: 0,
  size: 100,
} as const;

export function ending(subject: Subject): void {
  const target = { collection: LOOSE.name };
  let store: ReadStore;
  freshForEach(subject);
  beforeEach(async () => {
    store = subject.store();
    await live(store, LOOSE);
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: `d${n}`,
      fields: { title: WORDS.slice(n % 200, (n % 200) + 50) },
      body: '',
    }));
    await put(store, target, documents);
  });

  it('with an error on time-out, and answers the next one', async () => {
    await expect(store.search(target, slow, { timeLimit: 1 })).rejects.toEqual(new QueryTooLong(1));
    await expect(
      store.searchGroups(
        target,
        {
          ...slow,
          order: [{ by: 'greatest', ...slow.order[0] }],
          groupBy: 'groupId',
          within: [],
          members: 1,
        },
        { timeLimit: 1 },
      ),
    ).rejects.toEqual(new QueryTooLong(1));
    expect(await store.search(target, slow, { timeLimit: 60_000 })).toMatchObject({ total: DOCUMENTS });
  });

  it('when those before have taken the time that they share', async () => {
    const limited = { timeLimit: 60_000, spent: nothingSpent() };
    await store.search(target, slow, limited);
    const [once] = limited.spent;
    expect(once).toBeGreaterThan(0);
    await store.countValues(target, { filter: EVERYTHING, facets: [{ field: 'brand', size: 1 }] }, limited);
    expect(limited.spent[0]).toBeGreaterThan(once);
    limited.spent[0] = 59_999;
    await expect(store.search(target, slow, limited)).rejects.toEqual(new QueryTooLong(60_000));
    await expect(store.search(target, slow, limited)).rejects.toEqual(new QueryTooLong(60_000));
    expect(await store.get(target, ['d1'], limited)).toMatchObject([{ id: 'd1' }]);
  });

  it('with the reason of their signal, before they start or while they wait', async () => {
    const reason = new Error('the client has gone');
    await expect(store.get(target, ['d1'], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const gone = new AbortController();
    const queries = Array.from({ length: 8 }, () =>
      store.search(target, slow, { client: 'a', signal: gone.signal }),
    );
    const ended = Promise.allSettled(queries);
    const other = store.get(target, ['d1'], { client: 'b' });
    gone.abort(reason);
    const [last] = (await ended).slice(-1);
    expect([{ status: 'rejected', reason }, { status: 'fulfilled' }]).toContainEqual(
      last?.status === 'fulfilled' ? { status: last.status } : last,
    );
    expect(await other).toMatchObject([{ id: 'd1' }]);
  });
}
