import { START } from '../../../src/kernel/event';
import { EVERYTHING, type Filter, GROUPS_CHARACTERS } from '../../../src/kernel/query';
import { targetOf } from '../../../src/kernel/read-store';
import { at, freshForEach, live, put, type Subject } from './subject';
import { generatedDocuments, LOOSE, OFFERS } from './documents';

const target = { collection: OFFERS.name };

export function reading(subject: Subject): void {
  freshForEach(subject);
  const page = { order: [], offset: 0, size: 10 };

  it('gets the existing documents', async () => {
    await live(subject.store(), OFFERS);
    const documents = generatedDocuments(20);
    await put(subject.store(), target, documents);
    const [first, second] = documents;
    const found = await subject.store().get(target, [second!.id, 'not there', first!.id, first!.id]);
    expect(new Map(found.map(({ id, body }) => [id, body]))).toEqual(
      new Map([first!, second!].map(({ id, body }) => [id, body])),
    );
    expect(found).toHaveLength(2);
    expect(await subject.store().get(target, [])).toEqual([]);
  });

  it('answers over an empty collection', async () => {
    await live(subject.store(), OFFERS);
    const store = subject.store();
    const grouped = { ...page, filter: EVERYTHING, groupBy: 'groupId', within: [], members: 1 };
    expect(await store.search(target, { ...page, filter: EVERYTHING })).toEqual({ total: 0, found: [] });
    expect(await store.searchGroups(target, grouped)).toEqual({ total: 0, groups: [] });
    expect(await store.count(target, EVERYTHING)).toBe(0);
    expect(await store.countGroups(target, { filter: EVERYTHING, groupBy: 'groupId', size: 1 })).toEqual({
      groups: [],
    });
    for await (const batch of store.scan(target, EVERYTHING)) expect(batch).toEqual([]);
  });

  it('refuses a collection without a live generation', async () => {
    const store = subject.store();
    await store.create(OFFERS);
    await expect(store.search(target, { ...page, filter: EVERYTHING })).rejects.toMatchObject({
      name: 'NoGeneration',
    });
    await expect(store.get({ collection: 'unknown' }, ['a'])).rejects.toMatchObject({ name: 'NoGeneration' });
    await expect(store.checkpoint({ ...target, generation: 999 })).rejects.toMatchObject({
      name: 'NoGeneration',
    });
  });

  it('answers concurrent requests for checkpoints, including missing ones', async () => {
    const store = subject.store();
    const [filled, empty] = [await live(store, OFFERS), await live(store, LOOSE)].map(targetOf);
    await store.write(filled!, [], at(3));
    const asked = [filled!, { ...target, generation: 999 }, empty!, filled!];
    const told = await Promise.allSettled(asked.map((one) => store.checkpoint(one)));
    expect(told).toMatchObject([
      { value: at(3) },
      { reason: { name: 'NoGeneration' } },
      { value: START },
      { value: at(3) },
    ]);
  });

  it('limits the bodies in an answer of groups, and reports the end', async () => {
    await live(subject.store(), OFFERS);
    const letters = 'a b c d e f g h i j k l'.split(' ');
    const body = 'x'.repeat(GROUPS_CHARACTERS / 8);
    await put(
      subject.store(),
      target,
      letters.map((id) => ({ id, fields: { feedId: 1, groupId: id }, body })),
    );
    const wanted = { filter: EVERYTHING, groupBy: 'groupId' };
    const first = await subject.store().countGroups(target, { ...wanted, size: 12 });
    expect(first.groups).toHaveLength(9);
    const after = first.next!;
    const rest = await subject.store().countGroups(target, { ...wanted, size: 12, after });
    expect(rest).toMatchObject({ groups: [{ count: 1 }, { count: 1 }, { count: 1 }] });
    expect(rest.next).toBeUndefined();
    expect([...first.groups, ...rest.groups].map(({ one }) => one.id).sort()).toEqual(letters);
    const exactly = await subject.store().countGroups(target, { ...wanted, size: 3, after });
    expect([exactly.groups.length, exactly.next]).toEqual([3, undefined]);
  });

  it('refuses to query an unfinished generation', async () => {
    const store = subject.store();
    const { number } = await store.create(OFFERS);
    const building = { ...target, generation: number };
    const documents = generatedDocuments(3);
    await put(store, building, documents, 5);
    expect(await store.checkpoint(building)).toBe(at(5));
    expect(await store.get(building, [documents[0]!.id])).toHaveLength(1);
    const groups = { filter: EVERYTHING, groupBy: 'groupId' };
    const queries = [
      () => store.search(building, { ...page, filter: EVERYTHING }),
      () => store.searchGroups(building, { ...page, ...groups, within: [], members: 1 }),
      () => store.count(building, EVERYTHING),
      () => store.countGroups(building, { ...groups, size: 1 }),
      () => store.totals(building, { filter: EVERYTHING, by: ['groupId'], sums: [] }),
      () => store.snapshot(building, EVERYTHING)[Symbol.asyncIterator]().next(),
      () => store.scan(building, EVERYTHING)[Symbol.asyncIterator]().next(),
    ];
    for (const query of queries) await expect(query()).rejects.toThrow('not finished');
  });

  it('answers or refuses pending calls when it is closed, and refuses later ones', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    for (let from = 0; from < 3_000; from += 500)
      await put(
        store,
        target,
        generatedDocuments(500).map((document, n) => ({ ...document, id: `d${from + n}` })),
      );
    const unavailable = { name: 'EngineUnavailable' };
    const underWay = [
      store.snapshot(target, EVERYTHING)[Symbol.asyncIterator](),
      store.scan(target, EVERYTHING)[Symbol.asyncIterator](),
    ];
    for (const one of underWay) await one.next();
    const queries = Array.from({ length: 20 }, () => store.search(target, { ...page, filter: EVERYTHING }));
    const outcomes = Promise.allSettled(queries);
    await store.close();
    for (const outcome of await outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(unavailable);
    for (const one of underWay) await expect(one.next()).rejects.toMatchObject(unavailable);
    const asked: (() => Promise<unknown>)[] = [
      () => store.generations(OFFERS.name),
      () => store.create(OFFERS),
      () => store.write(target, [], at(9)),
      () => store.checkpoint(target),
      () => store.get(target, ['d1']),
      () => store.count(target, EVERYTHING),
      () => store.snapshot(target, EVERYTHING)[Symbol.asyncIterator]().next(),
      () => store.lease('projector', 'a', () => 0, 1),
      () => store.sweep(),
    ];
    for (const ask of asked) await expect(ask()).rejects.toMatchObject(unavailable);
    await store.close();
  });

  it.each<[string, Filter]>([
    ['an undeclared field', { field: 'colour', in: ['red'] }],
    ['bounds of a keyword', { field: 'brand', min: 1 }],
    ['words of a keyword', { words: ['red'], within: ['brand'] }],
    ['a value of words', { any: [{ field: 'title', in: ['red'] }] }],
  ])('refuses to search by %s', async (_, filter) => {
    await live(subject.store(), OFFERS);
    await expect(subject.store().search(target, { ...page, filter })).rejects.toMatchObject({
      name: 'UndeclaredField',
    });
    await expect(subject.store().count(target, filter)).rejects.toMatchObject({ name: 'UndeclaredField' });
  });
}
