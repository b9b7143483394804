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
}
