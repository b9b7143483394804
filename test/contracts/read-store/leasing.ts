import { MAX_CLOCK_SKEW_MS } from '../../../src/kernel/leases';
import { freshForEach, type Subject } from './subject';

export function leasing(subject: Subject): void {
  freshForEach(subject);

  it('to one owner at a time, until they expire', async () => {
    const store = subject.store();
    expect(await store.lease('projector', 'a', 1_000, 500)).toEqual({
      name: 'projector',
      owner: 'a',
      expires: 1_500,
    });
    expect(await store.lease('projector', 'b', 1_400, 500)).toBeUndefined();
    expect(await store.lease('projector', 'a', 1_400, 500)).toMatchObject({ expires: 1_900 });
    expect(await store.lease('projector', 'b', 1_899, 500)).toBeUndefined();
    expect(await store.lease('projector', 'b', 1_900, 500)).toMatchObject({ owner: 'b', expires: 2_400 });
    expect(await store.lease('projector', 'a', 2_000, 500)).toBeUndefined();
    expect(await store.lease('another', 'a', 2_000, 500)).toMatchObject({ owner: 'a' });
  });

  it('that are free once released, unless another owner has acquired them', async () => {
    const store = subject.store();
    const first = await store.lease('projector', 'a', 1_000, 500);
    await store.release(first!);
    const second = await store.lease('projector', 'b', 1_001, 500);
    expect(second).toMatchObject({ owner: 'b' });
    await store.release(first!);
    expect(await store.lease('projector', 'a', 1_002, 500)).toBeUndefined();
  });

  it('that an outdated release does not affect after a renewal', async () => {
    const store = subject.store();
    const first = await store.lease('projector', 'a', 1_000, 500);
    await store.lease('projector', 'a', 1_200, 500);
    await store.release(first!);
    expect(await store.lease('projector', 'b', 1_300, 500)).toBeUndefined();
  });

  it('that outlive the process that opened the store', async () => {
    await subject.store().lease('projector', 'a', 1_000, 500);
    await subject.reopen();
    expect(await subject.store().lease('projector', 'b', 1_100, 500)).toBeUndefined();
    expect(await subject.store().lease('projector', 'b', 1_500, 500)).toMatchObject({ owner: 'b' });
  });

  it('to one of many concurrent callers', async () => {
    const asked = Array.from({ length: 20 }, (_, n) =>
      subject.store().lease('projector', `owner ${n}`, 1_000, 500),
    );
    expect((await Promise.all(asked)).filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('that are not stolen within the maximum clock skew', async () => {
    const store = subject.store();
    await store.lease('projector', 'ahead', 1_000_000 + MAX_CLOCK_SKEW_MS, 500);
    expect(await store.lease('projector', 'behind', 1_000_000, 500)).toBeUndefined();
    expect(await store.holder('projector', 1_000_000, 500)).toBe('ahead');
  });

  it('that are void if the clock was an hour ahead, or was stepped back since', async () => {
    const store = subject.store();
    const hour = 3_600_000;
    await store.lease('projector', 'ahead', 1_000_000 + hour, 500);
    expect(await store.holder('projector', 1_000_000, 500)).toBeUndefined();
    expect(await store.lease('projector', 'b', 1_000_000, 500)).toEqual({
      name: 'projector',
      owner: 'b',
      expires: 1_000_500,
    });
    expect(await store.holder('projector', 1_000_001, 500)).toBe('b');
    await store.lease('rebuild', 'a', hour, 500);
    expect(await store.lease('rebuild', 'a', 1_000, 500)).toMatchObject({ owner: 'a', expires: 1_500 });
  });

  it('whose holder is reported until they expire', async () => {
    const store = subject.store();
    expect(await store.holder('projector', 1_000, 500)).toBeUndefined();
    const lease = await store.lease('projector', 'a', 1_000, 500);
    expect(await store.holder('projector', 1_499, 500)).toBe('a');
    expect(await store.holder('another', 1_499, 500)).toBeUndefined();
    expect(await store.holder('projector', 1_500, 500)).toBeUndefined();
    await store.release(lease!);
    expect(await store.holder('projector', 1_001, 500)).toBeUndefined();
  });
}
