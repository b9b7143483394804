import { EVERYTHING, type Search } from '../../../src/kernel/query';
import { at, freshForEach, live, put, type Subject } from './subject';
import { generatedDocuments, LOOSE, OFFERS } from './documents';

const target = { collection: OFFERS.name };
const EVERY: Search = { filter: EVERYTHING, order: [{ field: 'price' }], offset: 0, size: 1000 };

export function generations(subject: Subject): void {
  freshForEach(subject);

  it('with ascending numbers that are never reused', async () => {
    const store = subject.store();
    const first = await store.create(OFFERS);
    await store.drop(first);
    const second = await live(store, OFFERS);
    const third = await store.create({ ...OFFERS, version: 2 });
    expect(second.number).toBeGreaterThan(first.number);
    expect(third.number).toBeGreaterThan(second.number);
    await store.create(LOOSE);
    expect(await (await subject.reopen()).generations(OFFERS.name)).toEqual([
      { collection: OFFERS.name, version: 1, number: second.number, state: 'live' },
      { collection: OFFERS.name, version: 2, number: third.number, state: 'building' },
    ]);
  });

  it('filled before they are finished, which answer like one filled live', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    await put(store, target, generatedDocuments(300));
    const built = await store.create(OFFERS);
    const building = { ...target, generation: built.number };
    await put(
      store,
      building,
      generatedDocuments(300).map((document) => ({ ...document, body: 'first' })),
    );
    await store.write(building, [{ remove: generatedDocuments(1)[0]!.id, version: at(2) }], at(2));
    await subject.reopen();
    await put(subject.store(), building, generatedDocuments(300), 3);
    expect(await subject.store().get(building, [generatedDocuments(1)[0]!.id])).toHaveLength(1);
    await subject.store().finish(built);
    await subject.store().finish(built);
    const bodies = async (generation?: number) => {
      const searched = await subject
        .store()
        .search({ ...target, ...(generation === undefined ? {} : { generation }) }, EVERY);
      return searched.found.map(({ body }) => body);
    };
    expect(await bodies(built.number)).toEqual(await bodies());
    const words = { words: ['red'], within: ['title'] };
    expect(await subject.store().count(building, words)).toBe(await subject.store().count(target, words));
  });

  it('one of them live: swapped in, and back again', async () => {
    const store = subject.store();
    const old = await live(store, OFFERS);
    await put(store, target, generatedDocuments(10));
    const built = await store.create({ ...OFFERS, version: 2 });
    await store.finish(built);
    await store.swap(built);
    expect(await store.count(target, EVERYTHING)).toBe(0);
    expect((await store.generations(OFFERS.name)).map(({ state }) => state)).toEqual(['retired', 'live']);
    await store.swap(old);
    expect(await store.count(target, EVERYTHING)).toBe(10);
    expect((await store.generations(OFFERS.name)).map(({ state }) => state)).toEqual(['live', 'retired']);
  });

  it('which take disk space until they are dropped', async () => {
    const store = subject.store();
    const generation = await live(store, OFFERS);
    await put(store, target, generatedDocuments(300));
    await store.refresh(target);
    expect(await store.size(generation)).toBeGreaterThan(10_000);
    await store.retire(generation);
    await store.drop(generation);
    expect(await store.size(generation)).toBe(0);
  });

  it('the live one can be retired: queries find none until another one is swapped in', async () => {
    const store = subject.store();
    const old = await live(store, OFFERS);
    await put(store, target, generatedDocuments(10));
    expect(await store.count(target, EVERYTHING)).toBe(10);
    await store.retire(old);
    await store.retire(old);
    const none = { name: 'NoGeneration' };
    await expect(store.count(target, EVERYTHING)).rejects.toMatchObject(none);
    await expect(store.search(target, EVERY)).rejects.toMatchObject(none);
    await expect(store.checkpoint(target)).rejects.toMatchObject(none);
    expect(await store.generations(OFFERS.name)).toEqual([{ ...old, state: 'retired' }]);
    const next = await live(store, OFFERS);
    await store.retire(old);
    expect(await store.count(target, EVERYTHING)).toBe(0);
    expect((await store.generations(OFFERS.name)).at(-1)).toEqual(next);
  });

  it('which sweep does not affect, including those being built', async () => {
    const store = subject.store();
    const dropped = await store.create(OFFERS);
    const first = await live(store, OFFERS);
    await put(store, target, generatedDocuments(10));
    const building = await store.create({ ...OFFERS, version: 2 });
    await store.drop(dropped);
    await Promise.all([store.sweep(), store.sweep()]);
    expect(await store.generations(OFFERS.name)).toEqual([first, building]);
    expect(await store.count(target, EVERYTHING)).toBe(10);
    await store.write({ ...target, generation: building.number }, [], at(3));
    expect(await store.checkpoint({ ...target, generation: building.number })).toBe(at(3));
  });

  it('and refuses to swap in an unfinished or missing one, and does not drop the live one', async () => {
    const store = subject.store();
    const one = await live(store, OFFERS);
    const unfinished = await store.create(OFFERS);
    await expect(store.swap(unfinished)).rejects.toThrow();
    await expect(store.swap({ ...one, number: 999 })).rejects.toMatchObject({ name: 'NoGeneration' });
    await expect(store.finish({ ...one, number: 999 })).rejects.toMatchObject({ name: 'NoGeneration' });
    await store.drop(one);
    await store.drop(unfinished);
    await store.drop(unfinished);
    expect(await store.count(target, EVERYTHING)).toBe(0);
  });

  it('that no query sees partially: built, swapped in and dropped under 100 concurrent reads', async () => {
    const store = subject.store();
    let current = await live(store, OFFERS);
    const documents = generatedDocuments(40);
    const labelled = (label: string) => documents.map((document) => ({ ...document, body: label }));
    await put(store, target, labelled('round 0'));
    let swapping = true;
    const answers = new Set<string>();
    const read = async (): Promise<void> => {
      const { total, found } = await store.search(target, EVERY);
      const labels = new Set(found.map(({ body }) => body));
      expect([total, found.length, labels.size]).toEqual([documents.length, documents.length, 1]);
      for (const label of labels) answers.add(label);
    };
    const reader = async (): Promise<void> => {
      while (swapping) {
        await read();
        await new Promise(setImmediate);
      }
      await read();
    };
    const readers = Promise.all(Array.from({ length: 100 }, reader));
    try {
      for (let round = 1; round <= 4; round += 1) {
        const built = await store.create(OFFERS);
        await put(store, { ...target, generation: built.number }, labelled(`round ${round}`));
        await store.finish(built);
        await store.swap(built);
        await store.drop(current);
        current = { ...built, state: 'live' };
        await read();
      }
    } finally {
      swapping = false;
    }
    await readers;
    expect(answers).toContain('round 4');
    expect(await store.generations(OFFERS.name)).toEqual([current]);
  });
}
