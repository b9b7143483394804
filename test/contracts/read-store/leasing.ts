import { type Lease, MAX_SET_BACK_MS } from '../../../src/kernel/leases';
import { TestClock } from '../../support/clock';
import { type Subject } from './subject';

const TTL = 500;
/** Between questions of somebody who waits (ms). */
const STEP = 50;

export function leasing(subject: Subject): void {
  let now: number;
  const clock = new TestClock(
    () => now,
    () => now,
  );
  beforeEach(async () => {
    now = 1_000_000;
    await subject.open(clock);
  });
  afterEach(subject.close);

  /** `aheadMs`: by how much the clock of the owner is ahead. */
  const ask = (owner: string, name = 'projector', aheadMs = 0): Promise<Lease | undefined> =>
    subject.store().lease(name, owner, () => now + aheadMs, TTL);
  const holder = (name = 'projector'): Promise<string | undefined> => subject.store().holder(name, now, TTL);

  /** Asks again and again until it gets the lease; returns how much time has passed. */
  async function waited(owner: string): Promise<number> {
    const began = now;
    while ((await ask(owner)) === undefined) {
      now += STEP;
      if (now - began > 10 * TTL) throw new Error(`${owner} does not get it within ${now - began} ms`);
    }
    return now - began;
  }

  it('to one owner at a time, until they expire, and to others within that time again', async () => {
    expect(await ask('a')).toEqual({ name: 'projector', owner: 'a', expires: now + TTL });
    now += 400;
    expect(await ask('b')).toBeUndefined();
    expect(await ask('a')).toMatchObject({ expires: now + TTL });
    expect(await ask('a', 'another')).toMatchObject({ owner: 'a' });
    const ms = await waited('b');
    expect(ms).toBeGreaterThanOrEqual(TTL);
    expect(ms).toBeLessThanOrEqual(2 * TTL + STEP);
    expect(await ask('a')).toBeUndefined();
    now += TTL - STEP;
    expect(await ask('b')).toMatchObject({ owner: 'b', expires: now + TTL });
    expect(await ask('a')).toBeUndefined();
  });

  it('as long as they are renewed', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      expect(await ask('a')).toMatchObject({ owner: 'a' });
      expect(await ask('b')).toBeUndefined();
      expect(await holder()).toBe('a');
      now += TTL / 4;
    }
  });

  it('that are free once released, unless another owner has acquired them', async () => {
    const first = await ask('a');
    await subject.store().release(first!);
    now += 1;
    expect(await ask('b')).toMatchObject({ owner: 'b' });
    await subject.store().release(first!);
    now += 1;
    expect(await ask('a')).toBeUndefined();
  });

  it('that an outdated release does not affect after a renewal', async () => {
    const first = await ask('a');
    now += 200;
    await ask('a');
    await subject.store().release(first!);
    now += 100;
    expect(await ask('b')).toBeUndefined();
  });

  it('that outlive the process that opened the store', async () => {
    await ask('a');
    await subject.reopen();
    now += 100;
    expect(await ask('b')).toBeUndefined();
    expect(await waited('b')).toBeLessThanOrEqual(2 * TTL + STEP);
  });

  it('to one of many concurrent callers', async () => {
    const asked = Array.from({ length: 20 }, (_, n) => ask(`owner ${n}`));
    expect((await Promise.all(asked)).filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('that are not stolen when the clock was set back by a minute', async () => {
    await ask('ahead', 'projector', MAX_SET_BACK_MS);
    expect(await ask('behind')).toBeUndefined();
    expect(await holder()).toBe('ahead');
  });

  it('that block nobody for longer when the clock was an hour ahead, or was set back since', async () => {
    const hour = 3_600_000;
    await ask('ahead', 'projector', hour);
    expect(await holder()).toBeUndefined();
    expect(await waited('b')).toBeLessThanOrEqual(2 * TTL + STEP);
    now += 1;
    expect(await holder()).toBe('b');
    await ask('a', 'rebuild', hour);
    expect(await ask('a', 'rebuild')).toMatchObject({ owner: 'a', expires: now + TTL });
  });

  it('whose holder is reported until they expire', async () => {
    expect(await holder()).toBeUndefined();
    const lease = await ask('a');
    now += TTL - 1;
    expect(await holder()).toBe('a');
    expect(await holder('another')).toBeUndefined();
    now += 1;
    expect(await holder()).toBeUndefined();
    now += 1 - TTL;
    await subject.store().release(lease!);
    expect(await holder()).toBeUndefined();
  });
}
