import { EVERYTHING, type Found } from '../../../src/kernel/query';
import { type ReadStore } from '../../../src/kernel/read-store';
import { LOOSE } from './documents';
import { freshForEach, live, put, type Subject } from './subject';

const DOCUMENTS = 300;
const BODY = 10_000;
const LIMIT = { bodyLimit: 20 * BODY };

const ids = (found: readonly Found[]): readonly string[] => found.map(({ id }) => id);
const name = (n: number): string => `d${String(n).padStart(3, '0')}`;

export function limited(subject: Subject): void {
  const target = { collection: LOOSE.name };
  const byPrice = { filter: EVERYTHING, order: [{ field: 'price' }], offset: 5, size: 200 } as const;
  const byGroup = { ...byPrice, groupBy: 'groupId', within: [{ field: 'price' }], members: 50 } as const;
  const groupOrder = [{ by: 'least', field: 'price' }] as const;
  let store: ReadStore;
  freshForEach(subject);
  beforeEach(async () => {
    store = subject.store();
    await live(store, LOOSE);
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: name(n),
      fields: { price: n, groupId: `g${Math.floor(n / 40)}` },
      body: String(n % 10).repeat(BODY),
    }));
    await put(store, target, documents);
  });

  it('pages whose documents exceed the limit: the rest come as ids, in order (decisions X72)', async () => {
    const { found, rest = [], total } = await store.search(target, byPrice, LIMIT);
    expect(total).toBe(DOCUMENTS);
    expect(found.length).toBeLessThanOrEqual(20);
    expect([...ids(found), ...rest]).toEqual(Array.from({ length: 200 }, (_, n) => name(n + 5)));
    expect(found.every(({ id, body }) => body === id.slice(-1).repeat(BODY))).toBe(true);

    const cursor = await store.search(target, { ...byPrice, offset: 0, after: null }, LIMIT);
    expect([...ids(cursor.found), ...(cursor.rest ?? [])]).toHaveLength(200);
    const { found: next } = await store.search(target, {
      ...byPrice,
      offset: 0,
      size: 1,
      after: cursor.next!,
    });
    expect(ids(next)).toEqual([name(200)]);
  });

  it('pages of groups, each of which is complete or comes as ids', async () => {
    const wanted = { ...byGroup, order: groupOrder, offset: 0 };
    const { groups, rest = [], total } = await store.searchGroups(target, wanted, LIMIT);
    expect(total).toBe(8);
    const first = groups[0] ?? [];
    // What is too large by itself is cut.
    const whole = [...groups.map(ids), ...rest];
    expect(ids(first)).toEqual(whole[0]?.slice(0, first.length));
    expect(groups.flat().length).toBeLessThanOrEqual(20);
    expect(whole.slice(groups.length)).toEqual(
      Array.from({ length: 8 - groups.length }, (_, at) => {
        const from = (at + groups.length) * 40;
        return Array.from({ length: Math.min(40, DOCUMENTS - from) }, (_, n) => name(from + n));
      }),
    );
  });

  it('documents by id: the first existing ones, in the order of the ids', async () => {
    const wanted = [name(299), 'none', ...Array.from({ length: 250 }, (_, n) => name(250 - n))];
    const seen: string[] = [];
    for (let left = wanted; left.length > 0;) {
      const found = await store.get(target, left, LIMIT);
      if (found.length === 0) break;
      expect(found.length).toBeLessThanOrEqual(100);
      seen.push(...ids(found));
      left = left.slice(left.indexOf(seen.at(-1)!) + 1);
    }
    expect(seen).toEqual(wanted.filter((id) => id !== 'none'));
  });
}
