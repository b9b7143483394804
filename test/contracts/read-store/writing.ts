import fc from 'fast-check';
import { START } from '../../../src/kernel/event';
import { EVERYTHING, type Filter } from '../../../src/kernel/query';
import { type Document, type Write } from '../../../src/kernel/read-store';
import { oracleOf } from '../../support/oracle';
import { inRandomOrder } from '../../support/random-order';
import { at, freshForEach, live, put, type Subject } from './subject';
import { FEEDS, generatedDocuments, OFFERS } from './documents';

const target = { collection: OFFERS.name };

export function writing(subject: Subject): void {
  freshForEach(subject);
  const [document, other] = generatedDocuments(2) as [Document, Document];
  const write = async (writes: readonly Write[], checkpoint?: string) => {
    await subject.store().write(target, writes, checkpoint);
    await subject.store().refresh(target);
  };
  const bodies = async () => {
    const found: [string, string][] = [];
    for await (const batch of subject.store().scan(target, EVERYTHING))
      found.push(...batch.map(({ id, body }): [string, string] => [id, body]));
    return new Map(found);
  };

  it('stores the checkpoint with the documents', async () => {
    await live(subject.store(), OFFERS);
    expect(await subject.store().checkpoint(target)).toBe(START);
    await write([{ put: document, version: at(3) }], at(5));
    expect(await subject.store().checkpoint(target)).toBe(at(5));
    await write([{ put: other, version: at(6) }]);
    expect(await subject.store().checkpoint(target)).toBe(at(5));
    await write([], at(7));
    await subject.reopen();
    expect(await subject.store().checkpoint(target)).toBe(at(7));
    expect((await bodies()).size).toBe(2);
  });

  describe('counts documents as one group when one has the id of another as its value', () => {
    const offer = (id: string, groupId: string, feedId = 1): Document => ({
      id,
      fields: { feedId, groupId, price: 1, title: ['red'] },
      body: id,
    });
    // As many as make a large segment.
    const others = Array.from({ length: 1_100 }, (_, n) => offer(`other ${n}`, `other ${n}`, 1 + (n % 2)));
    const [own, one, two] = [offer('a', 'a'), offer('b', 'a', 2), offer('c', 'a')];
    const expectGroups = async (documents: readonly Document[]): Promise<void> => {
      const oracle = oracleOf(documents);
      const store = subject.store();
      const filter: Filter = { words: ['red'], within: ['title'] };
      expect(await store.totals(target, { filter, by: ['groupId'], sums: [] })).toEqual(
        oracle.totals('groupId', [], filter),
      );
      const { groups } = await store.countGroups(target, { filter, groupBy: 'groupId', size: 10_000 });
      expect(groups.map(({ count }) => count).sort()).toEqual(
        [...oracle.countGroups('groupId', filter).values()].sort(),
      );
      const page = { offset: 0, size: 2_000, members: 10, within: [], order: [] };
      const found = await store.searchGroups(target, { ...page, filter, groupBy: 'groupId' });
      expect(found.groups.map((group) => group.map(({ id }) => id))).toEqual(
        oracle.searchGroups({ ...page, filter, groupBy: 'groupId' }).ids,
      );
    };

    it.each<[how: string, batches: readonly (readonly Document[])[]]>([
      ['the one with this id first', [[own, ...others], [one]]],
      ['the other first', [[one], [own, ...others]]],
      ['both at once', [[own, one, two]]],
      ['one of many, twice', [others, [own], [one, offer('d', 'other 7')], [two, offer('e', 'other 8')]]],
      [
        'and then replaced',
        [[own, two], [one], [{ ...own, body: 'new' }], [offer('a', 'b'), offer('b', 'b')]],
      ],
    ])('%s', async (_, batches) => {
      const documents = [...new Map(batches.flat().map((document) => [document.id, document])).values()];
      const store = subject.store();
      const first = await live(store, OFFERS);
      for (const [version, batch] of batches.entries())
        await write(batch.map((document) => ({ put: document, version: at(version + 1) })));
      await expectGroups(documents);

      const building = await store.create(OFFERS);
      for (const [version, batch] of batches.entries())
        await store.write(
          { collection: OFFERS.name, generation: building.number },
          batch.map((document) => ({ put: document, version: at(version + 1) })),
        );
      await store.finish(building);
      await store.swap(building);
      await store.drop({ ...first, state: 'retired' });
      await expectGroups(documents);
    });
  });

  it('never moves the checkpoint backwards, but still writes the documents of the batch', async () => {
    await live(subject.store(), OFFERS);
    await write([{ put: document, version: at(10) }], at(10));
    await write([{ put: other, version: at(4) }], at(5));
    expect(await subject.store().checkpoint(target)).toBe(at(10));
    expect((await bodies()).size).toBe(2);
    await subject.reopen();
    await write([], at(9));
    expect(await subject.store().checkpoint(target)).toBe(at(10));
    await write([], at(11));
    expect(await subject.store().checkpoint(target)).toBe(at(11));
  });

  it('ignores an older version, and applies an equal one again', async () => {
    await live(subject.store(), OFFERS);
    await write([{ put: { ...document, body: 'new' }, version: at(10) }]);
    await write([{ put: { ...document, body: 'old' }, version: at(9) }]);
    await write([{ remove: document.id, version: at(9) }]);
    expect(await bodies()).toEqual(new Map([[document.id, 'new']]));
    await write([{ put: { ...document, body: 'again' }, version: at(10) }]);
    expect(await subject.store().get(target, [document.id])).toEqual([
      { id: document.id, version: at(10), body: 'again' },
    ]);
  });

  it('compares versions up to the maximum of a log', async () => {
    await live(subject.store(), OFFERS);
    await write([{ put: { ...document, body: 'new' }, version: '9223372036854775807' }]);
    await write([{ put: { ...document, body: 'old' }, version: '9223372036854775806' }]);
    expect(await subject.store().get(target, [document.id])).toEqual([
      { id: document.id, version: '9223372036854775807', body: 'new' },
    ]);
  });

  it('does not let an older write undo a removal, even after a restart', async () => {
    await live(subject.store(), OFFERS);
    await write([{ put: document, version: at(1) }]);
    await write([{ remove: document.id, version: at(5) }]);
    await write([{ remove: other.id, version: at(5) }]);
    await subject.reopen();
    await write([
      { put: document, version: at(4) },
      { put: other, version: at(4) },
    ]);
    expect(await bodies()).toEqual(new Map());
    expect(await subject.store().get(target, [document.id])).toEqual([]);
    await write([{ put: document, version: at(6) }]);
    expect([...(await bodies()).keys()]).toEqual([document.id]);
  });

  it('knows the versions of removals, unless they may be forgotten', async () => {
    await live(subject.store(), OFFERS);
    const ids = [document.id, other.id, 'x'.repeat(600), 'never there'];
    await write([
      { put: document, version: at(1) },
      { put: other, version: at(2) },
      { remove: document.id, version: at(5) },
      { remove: ids[2]!, version: at(6) },
    ]);
    const removals = async () => Object.fromEntries(await subject.store().removals(target, ids));
    expect(await removals()).toEqual({ [ids[0]!]: at(5), [ids[2]!]: at(6) });
    await write([{ put: document, version: at(7) }]);
    await subject.reopen();
    expect(await removals()).toEqual({ [ids[2]!]: at(6) });
  });

  it('removes a document without remembering it, unless the document is newer', async () => {
    await live(subject.store(), OFFERS);
    const [third] = generatedDocuments(3).slice(2) as [Document];
    await write([
      { put: document, version: at(1) },
      { put: other, version: at(6) },
      { remove: third.id, version: at(2) },
    ]);
    const removals = [document, other, third].map(({ id }): Write => ({
      remove: id,
      version: at(5),
      forget: true,
    }));
    await write(removals);
    expect([...(await bodies()).keys()]).toEqual([other.id]);
    await write(removals);
    await write([
      { put: document, version: at(7) },
      { put: third, version: at(7) },
    ]);
    expect([...(await bodies()).keys()].sort()).toEqual([document.id, other.id, third.id].sort());
  });

  it('finds a document by its current fields only', async () => {
    await live(subject.store(), OFFERS);
    const fields = { feedId: 1, groupId: 'g', title: ['red'], brand: 'Acme', price: 5 };
    await write([{ put: { ...document, fields }, version: at(1) }]);
    await write([
      {
        put: { ...document, fields: { feedId: 2, groupId: 'h', title: ['blue'], price: 6 } },
        version: at(2),
      },
    ]);
    const count = (filter: Parameters<ReturnType<Subject['store']>['count']>[1]) =>
      subject.store().count(target, filter);
    expect(await count({ words: ['red'], within: ['title'] })).toBe(0);
    expect(await count({ words: ['blue'], within: ['title'] })).toBe(1);
    expect(await count({ field: 'brand', in: ['Acme'] })).toBe(0);
    expect(await count({ field: 'feedId', in: [1] })).toBe(0);
    expect(await count({ field: 'feedId', in: [2] })).toBe(1);
    expect(await count({ field: 'groupId', in: ['g'] })).toBe(0);
    expect(await count({ field: 'price', min: 6 })).toBe(1);
  });

  it.each<[string, Document['fields']]>([
    ['an undeclared field', { feedId: 1, colour: 'red' }],
    ['a string for a number', { feedId: 1, price: '5' }],
    ['a number that is not a safe integer', { feedId: 1, price: 0.5 }],
    ['a number for a keyword', { feedId: 1, brand: 5 }],
    ['several strings for a column', { feedId: 1, groupId: ['a', 'b'] }],
    ['no partition', { price: 1 }],
  ])('writes nothing of a batch with %s', async (_, fields) => {
    await live(subject.store(), OFFERS);
    const batch = [
      { put: document, version: at(1) },
      { put: { id: 'bad', fields, body: '' }, version: at(1) },
    ];
    await expect(subject.store().write(target, batch, at(1))).rejects.toMatchObject({
      name: 'UndeclaredField',
    });
    await subject.store().refresh(target);
    expect((await bodies()).size).toBe(0);
    expect(await subject.store().checkpoint(target)).toBe(START);
  });

  it('shows what was written up to a checkpoint after a refresh up to it', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    const batches: (readonly [readonly Write[], string?])[] = [
      [[{ put: document, version: at(2) }], at(2)],
      [[], at(3)],
      [[{ put: other, version: at(4) }]],
      [[], at(5)],
      [[{ remove: document.id, version: at(6) }], at(6)],
      [[], at(7)],
    ];
    const counts: number[] = [];
    for (const [writes, checkpoint] of batches) {
      await store.write(target, writes, checkpoint);
      await store.refresh(target, await store.checkpoint(target));
      if (checkpoint !== undefined) counts.push(await store.count(target, EVERYTHING));
    }
    expect(counts).toEqual([1, 1, 2, 1, 1]);
  });

  it('stores the newest state of each document, whatever the order and number of its writes', async () => {
    const writes = fc.array(
      fc.record({
        id: fc.constantFrom('a', 'b', 'c'),
        version: fc.integer({ min: 1, max: 12 }),
        // What is written depends on id and version alone, as with documents that are folded from a log.
        cut: fc.boolean(),
      }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(writes, async (history) => {
        const generation = await live(subject.store(), OFFERS);
        const newest = new Map<string, number>();
        let batch: Write[] = [];
        for (const { id, version, cut } of history) {
          batch.push(writeOf(id, version));
          newest.set(id, Math.max(newest.get(id) ?? 0, version));
          if (cut) await write(batch.splice(0));
        }
        await write(batch);
        const expected = [...newest].filter(([, version]) => version % 4 !== 0).sort();
        expect([...(await bodies())]).toEqual(expected.map(([id, version]) => [id, `${id} ${version}`]));
        for (const feed of FEEDS)
          expect(await subject.store().count(target, { field: 'feedId', in: [feed] })).toBe(
            expected.filter(([, version]) => FEEDS[version % FEEDS.length] === feed).length,
          );
        for (const { number } of await subject.store().generations(OFFERS.name))
          if (number !== generation.number) await subject.store().drop({ ...generation, number });
        batch = [];
      }),
      { numRuns: 25 },
    );
  });

  it('writes a batch of ten thousand, and a random order pages beyond them', async () => {
    await live(subject.store(), OFFERS);
    const many = Array.from({ length: 10_200 }, (_, n) => ({
      put: { id: `d${n}`, fields: { feedId: n % 100, groupId: 'g', price: n }, body: '{}' },
      version: at(1),
    }));
    await write(many.slice(0, 10_000), at(1));
    await write(many.slice(10_000), at(1));
    expect(await subject.store().count(target, { field: 'feedId', in: [3, 4] })).toBe(204);
    const order = [{ shuffled: 'price', seed: 7 }];
    const page = { offset: 10_050, size: 1000 };
    const { total, found } = await subject.store().search(target, { filter: EVERYTHING, order, ...page });
    const last = inRandomOrder(7, [...many.keys()]).slice(10_050);
    expect([total, found.map(({ id }) => id)]).toEqual([10_200, last.map((n) => `d${n}`)]);
  });

  it('restores a removed document', async () => {
    await live(subject.store(), OFFERS);
    await put(subject.store(), target, generatedDocuments(50));
    await write(generatedDocuments(50).map(({ id }) => ({ remove: id, version: at(2) })));
    expect(await subject.store().count(target, EVERYTHING)).toBe(0);
    await put(subject.store(), target, generatedDocuments(50), 3);
    expect(await subject.store().count(target, EVERYTHING)).toBe(50);
  });
}

/** Every fourth version is a removal; versions move between partitions. */
function writeOf(id: string, version: number): Write {
  if (version % 4 === 0) return { remove: id, version: at(version) };
  const fields = { feedId: FEEDS[version % FEEDS.length]!, groupId: 'g' };
  return { put: { id, fields, body: `${id} ${version}` }, version: at(version) };
}
