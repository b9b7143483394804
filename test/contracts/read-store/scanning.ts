import { EVERYTHING, type Filter } from '../../../src/kernel/query';
import { at, freshForEach, live, put, type Subject } from './subject';
import { generatedDocuments, OFFERS } from './documents';

const target = { collection: OFFERS.name };

export function scanning(subject: Subject): void {
  freshForEach(subject);
  const documents = Array.from({ length: 3_000 }, (_, n) => ({
    id: `d${String(n).padStart(5, '0')}`,
    fields: { feedId: 1 + (n % 2), groupId: 'g' },
    body: 'before',
  }));

  it('one snapshot, with concurrent writes', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    await put(store, target, documents);
    const seen: string[] = [];
    for await (const { found } of store.snapshot(target, EVERYTHING)) {
      for (const { id, body } of found) {
        expect(body).toBe('before');
        seen.push(id);
      }
      await put(
        store,
        target,
        documents.slice(-10).map((document) => ({ ...document, body: 'after' })),
        2,
      );
      await store.write(target, [{ remove: documents.at(-20)!.id, version: at(3) }]);
      await put(store, target, generatedDocuments(5), 4);
    }
    expect(seen).toEqual(documents.map(({ id }) => id));
    expect(await store.count(target, EVERYTHING)).toBe(documents.length + 4);
  });

  it('each document once and in order, while others are written and the generation is replaced and dropped', async () => {
    const store = subject.store();
    const first = await live(store, OFFERS);
    await put(store, target, documents);
    const seen: string[] = [];
    for await (const batch of store.scan(target, { field: 'feedId', in: [1] })) {
      const isFirst = seen.length === 0;
      for (const { id } of batch) seen.push(id);
      if (!isFirst) continue;
      const after = documents.slice(-10).map((document) => ({ ...document, body: 'after' }));
      await put(store, target, [...after, { ...documents[0]!, body: 'after' }], 2);
      await live(store, OFFERS);
      await store.drop(first);
    }
    expect(seen).toEqual(documents.filter(({ fields }) => fields.feedId === 1).map(({ id }) => id));
  });

  it('only documents after an id, to continue a scan that has ended', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    // By their bytes in UTF-8: JavaScript compares the last two the other way round.
    const others = ['', 'É', '\uffee', '\u{1f600}'].map((id) => ({
      id: `~${id}`,
      fields: { feedId: 1 },
      body: id,
    }));
    const all = [...documents, ...others];
    await put(store, target, all);
    const ids = async (after?: string, filter: Filter = EVERYTHING): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const batch of store.scan(target, filter, after)) found.push(...batch.map(({ id }) => id));
      return found;
    };
    const expected = all.map(({ id }) => id);
    for (const after of [...expected.slice(0, 2), ...expected.slice(-6)])
      expect(await ids(after)).toEqual(expected.slice(expected.indexOf(after) + 1));
    expect(await ids(`${expected[0]!}!`)).toEqual(expected.slice(1));
    const ofOne = documents.filter(({ fields }) => fields.feedId === 2).map(({ id }) => id);
    expect(await ids(ofOne[1], { field: 'feedId', in: [2] })).toEqual(ofOne.slice(2));
  });

  it('a sample document per value of a column first, from the same snapshot', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    const grouped = Array.from({ length: 2_500 }, (_, n) => ({
      id: `d${String(n).padStart(5, '0')}`,
      fields: { feedId: 1 + (n % 2), price: n % 3, ...(n < 2_400 ? { groupId: `g${n % 1_200}` } : {}) },
      body: `g${n % 1_200}`,
    }));
    await put(store, target, grouped);
    const filter = {
      all: [
        { field: 'feedId', in: [2] },
        { field: 'price', min: 1, max: 2 },
      ],
    };
    const matching = grouped.filter(({ fields: { feedId, price } }) => feedId === 2 && price > 0);
    const snapshot = store.snapshot(target, filter, 'groupId');
    const sampled: string[] = [];
    const found: string[] = [];
    let heads = 0;
    for await (const batch of snapshot) {
      expect(batch.total).toBe(matching.length);
      if (batch.samples !== undefined) expect([heads, batch.found]).toEqual([0, []]);
      else if (batch.found.length === 0) heads += 1;
      if (sampled.length === 0) await store.write(target, [{ remove: 'd00001', version: at(2) }]);
      sampled.push(...(batch.samples ?? []).map(({ body }) => body));
      found.push(...batch.found.map(({ id }) => id));
    }
    expect(heads).toBe(1);
    const values = matching.flatMap(({ fields: { groupId } }) => groupId ?? []);
    expect(sampled.toSorted()).toEqual([...new Set(values)].toSorted());
    expect(found).toEqual(matching.map(({ id }) => id));
    const none = store.snapshot(target, { field: 'feedId', in: [3] }, 'groupId');
    for await (const batch of none) expect(batch).toMatchObject({ found: [], total: 0 });
  });

  it('until the consumer stops', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    await put(store, target, documents);
    for (let round = 0; round < 5; round += 1)
      for await (const batch of store.scan(target, { field: 'feedId', in: [2] })) {
        expect(batch[0]?.id).toBe('d00001');
        break;
      }
    await put(store, target, documents, 2);
    expect(await store.count(target, EVERYTHING)).toBe(documents.length);
  });

  it('a snapshot that reports its total and its checkpoint before any document is read', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    await put(store, target, documents, 7);
    const [snapshot, none] = [
      { field: 'feedId', in: [2] },
      { field: 'feedId', in: [3] },
    ].map((filter) => store.snapshot(target, filter)[Symbol.asyncIterator]());
    expect((await snapshot!.next()).value).toEqual({ found: [], total: 1500, checkpoint: at(7) });
    expect((await none!.next()).value).toEqual({ found: [], total: 0, checkpoint: at(7) });
    expect((await none!.next()).done).toBe(true);
    await put(store, target, [{ ...documents[1]!, body: 'after' }], 8);
    await store.write(target, [{ remove: documents[3]!.id, version: at(9) }], at(9));
    const ids: string[] = [];
    for (let next = await snapshot!.next(); next.done !== true; next = await snapshot!.next()) {
      expect(next.value).toMatchObject({ total: 1500, checkpoint: at(7) });
      ids.push(...next.value.found.map(({ id, body }) => (body === 'before' ? id : body)));
    }
    expect(ids).toEqual(documents.filter(({ fields }) => fields.feedId === 2).map(({ id }) => id));
  });
}
