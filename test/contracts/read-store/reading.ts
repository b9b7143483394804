import { START } from '../../../src/kernel/event';
import { EVERYTHING, type Filter, type Generation, type Target } from '../../../src/kernel/read-store';
import { at, freshForEach, live, put, type Subject } from './subject';
import { generatedDocuments, LOOSE, OFFERS } from './documents';

const target = { collection: OFFERS.name };

export function reading(subject: Subject): void {
  freshForEach(subject);
  const page = { order: [], offset: 0, size: 10 };

  it('gets the documents of the ids that are there', async () => {
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

  it('refuses a collection of which no generation is live', async () => {
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

  it('tells checkpoints that are asked for at the same time, and of which there is none', async () => {
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

  it.each<[string, Filter]>([
    ['an undeclared field', { field: 'colour', in: ['red'] }],
    ['bounds of a keyword', { field: 'brand', min: 1 }],
    ['words of a keyword', { words: ['red'], within: ['brand'] }],
    ['a value of words', { any: [{ field: 'title', in: ['red'] }] }],
  ])('refuses to look for %s', async (_, filter) => {
    await live(subject.store(), OFFERS);
    await expect(subject.store().search(target, { ...page, filter })).rejects.toMatchObject({
      name: 'UndeclaredField',
    });
    await expect(subject.store().count(target, filter)).rejects.toMatchObject({ name: 'UndeclaredField' });
  });
}

function targetOf({ collection, number }: Generation): Target {
  return { collection, generation: number };
}
