import { EVERYTHING } from '../../../src/kernel/read-store';
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

  it('one snapshot, while writes go on', async () => {
    const store = subject.store();
    await live(store, OFFERS);
    await put(store, target, documents);
    const seen: string[] = [];
    for await (const batch of store.scan(target, EVERYTHING)) {
      for (const { id, body } of batch) {
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

  it('as far as it is wanted', async () => {
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

  it('a snapshot that says how many there are and how far it surely reaches, before any is read', async () => {
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
