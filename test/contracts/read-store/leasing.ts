import { freshForEach, type Subject } from './subject';

export function leasing(subject: Subject): void {
  freshForEach(subject);

  it('to one owner at a time, until they expire', async () => {
    const store = subject.store();
    expect(await store.lease('projector', 'a', 1_000, 500)).toEqual({
      name: 'projector',
      owner: 'a',
      fence: 1,
      expires: 1_500,
    });
    expect(await store.lease('projector', 'b', 1_400, 500)).toBeUndefined();
    expect(await store.lease('projector', 'a', 1_400, 500)).toMatchObject({ fence: 1, expires: 1_900 });
    expect(await store.lease('projector', 'b', 1_899, 500)).toBeUndefined();
    expect(await store.lease('projector', 'b', 1_900, 500)).toMatchObject({
      owner: 'b',
      fence: 2,
      expires: 2_400,
    });
    expect(await store.lease('projector', 'a', 2_000, 500)).toBeUndefined();
    expect(await store.lease('another', 'a', 2_000, 500)).toMatchObject({ fence: 1 });
  });

  it('that are free once they are given back, unless they have gone to another', async () => {
    const store = subject.store();
    const first = await store.lease('projector', 'a', 1_000, 500);
    await store.release(first!);
    const second = await store.lease('projector', 'b', 1_001, 500);
    expect(second).toMatchObject({ owner: 'b', fence: 2 });
    await store.release(first!);
    expect(await store.lease('projector', 'a', 1_002, 500)).toBeUndefined();
  });

  it('with fencing numbers that go on after it was opened again', async () => {
    await subject.store().lease('projector', 'a', 1_000, 500);
    await subject.reopen();
    expect(await subject.store().lease('projector', 'b', 1_100, 500)).toBeUndefined();
    expect(await subject.store().lease('projector', 'b', 1_500, 500)).toMatchObject({ fence: 2 });
  });

  it('to one of many that ask at once', async () => {
    const asked = Array.from({ length: 20 }, (_, n) =>
      subject.store().lease('projector', `owner ${n}`, 1_000, 500),
    );
    expect((await Promise.all(asked)).filter((lease) => lease !== undefined)).toHaveLength(1);
  });
}
