import { type Clock } from '../../src/runtime/clock';
import { type Lease, type Leases } from '../../src/kernel/leases';
import { TestClock } from '../support/clock';

/** Leases to be tried, without any. */
export interface LeasesFixture {
  /** As another process has them. */
  readonly again: (clock: Clock) => Promise<Leases>;
  /** The same for a process whose releases fail after `setFailing(true)`. */
  readonly unsteady: (clock: Clock) => Promise<UnsteadyLeases>;
  /** Closes all. */
  readonly close: () => Promise<void>;
}

interface UnsteadyLeases {
  readonly leases: Leases;
  readonly setFailing: (isFailing: boolean) => void;
}

const TTL = 600;
/** Between questions of somebody who waits (ms). */
const STEP = 50;

/** The promises of the `Leases` port: what every engine passes, without exceptions. */
export function leasesContract(name: string, open: () => Promise<LeasesFixture>): void {
  describe(`${name}: leases`, () => {
    let now: number;
    let fixture: LeasesFixture;
    let a: Leases;
    let b: Leases;
    beforeEach(async () => {
      now = 1_000_000;
      fixture = await open();
      [a, b] = [await another(), await another()];
    });
    afterEach(() => fixture.close());

    const clock = new TestClock(
      () => now,
      () => now,
    );
    const another = (): Promise<Leases> => fixture.again(clock);
    const ask = (of: Leases, owner: string, lease = 'work', isGone?: (owner: string) => boolean) =>
      of.lease(lease, owner, () => now, TTL, isGone);
    const ownersOf = (of: Leases, prefix = '') => of.owners(prefix, now, TTL);

    /** Asks again and again until the answer is yes; returns how much time has passed. */
    async function passed(isSo: () => Promise<boolean>): Promise<number> {
      const start = now;
      while (!(await isSo())) {
        now += STEP;
        if (now - start > 10 * TTL) throw new Error(`it is not so after ${now - start} ms`);
      }
      return now - start;
    }

    it('are of one owner at a time, as long as it renews them', async () => {
      expect(await ask(a, 'a')).toMatchObject({ name: 'work', owner: 'a' });
      for (let turn = 0; turn < 20; turn += 1) {
        expect(await ask(b, 'b')).toBeUndefined();
        now += TTL / 4;
        expect(await ask(a, 'a')).toMatchObject({ owner: 'a' });
      }
      expect(await ask(b, 'b', 'other work')).toMatchObject({ owner: 'b' });
      expect(await ask(a, 'a', 'other work')).toBeUndefined();
    });

    it('end as they say, and others get them then, within twice their time', async () => {
      const { expires } = (await ask(a, 'a'))!;
      expect(expires - now).toBeGreaterThan(TTL * 0.9);
      expect(expires - now).toBeLessThanOrEqual(TTL);
      const wait = await passed(async () => (await ask(b, 'b')) !== undefined);
      expect(wait).toBeGreaterThanOrEqual(expires - 1_000_000);
      expect(wait).toBeLessThanOrEqual(2 * TTL + STEP);
      expect(await ask(a, 'a')).toBeUndefined();
      expect(await ownersOf(a)).toEqual(['b']);
    });

    it('are renewed by asking: the end moves on', async () => {
      const first = await ask(a, 'a');
      now += TTL / 2;
      const second = await ask(a, 'a');
      expect(second!.expires - first!.expires).toBe(TTL / 2);
    });

    it('whose owner was silent too long are asked for again, and are its own only if nobody else has taken them', async () => {
      await ask(a, 'a');
      now += 5 * TTL;
      expect(await ask(a, 'a')).toMatchObject({ owner: 'a' });
      expect(await ask(b, 'b')).toBeUndefined();
      await passed(async () => (await ask(b, 'b')) !== undefined);
      now += TTL / 4;
      expect(await ask(a, 'a')).toBeUndefined();
    });

    it('are of one owner when many ask for one that has ended, the old one too', async () => {
      await ask(a, 'a');
      const others = await Promise.all(Array.from({ length: 4 }, another));
      await Promise.all(others.map((other, at) => ask(other, `other ${at}`)));
      now += 2 * TTL;
      const answers = await Promise.all([
        ask(a, 'a'),
        ...others.map((other, at) => ask(other, `other ${at}`)),
      ]);
      const granted = answers.filter((lease) => lease !== undefined);
      expect(granted).toHaveLength(1);
      expect(await ownersOf(b)).toEqual([granted[0]?.owner]);
    });

    it('are of one of many who ask at the same time, also within a process', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => ask(at % 2 === 0 ? a : b, `owner ${at}`)),
      );
      expect(answers.filter((lease) => lease !== undefined)).toHaveLength(1);
    });

    it('are free once released, unless another owner has acquired them', async () => {
      const first = await ask(a, 'a');
      await a.release(first!);
      expect(await ownersOf(b)).toEqual([]);
      expect(await ask(b, 'b')).toMatchObject({ owner: 'b' });
      await a.release(first!);
      expect(await ask(a, 'a')).toBeUndefined();
    });

    it('end when they are not renewed, though their owner renews another one', async () => {
      const { expires } = (await ask(a, 'a'))!;
      const wait = await passed(async () => {
        await ask(a, 'a', 'other work');
        return (await ask(b, 'b')) !== undefined;
      });
      expect(wait).toBeGreaterThanOrEqual(expires - 1_000_000);
      expect(wait).toBeLessThanOrEqual(2 * TTL + STEP);
      expect(await ask(a, 'a')).toBeUndefined();
      expect(await ask(b, 'b', 'other work')).toBeUndefined();
    });

    it('end within twice their time when their release failed, though their owner renews another one', async () => {
      const { leases, setFailing } = await fixture.unsteady(clock);
      const names = ['work', 'more work'];
      const [work, more] = await Promise.all(names.map((one) => ask(leases, 'a', one)));
      await ask(leases, 'a', 'other work');
      setFailing(true);
      const released = await Promise.allSettled([leases.release(work!), leases.release(more!)]);
      expect(released.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      setFailing(false);
      const wait = await passed(async () => {
        await ask(leases, 'a', 'other work');
        return (await Promise.all(names.map((one) => ask(b, 'b', one)))).every(
          (lease) => lease !== undefined,
        );
      });
      expect(wait).toBeLessThanOrEqual(2 * TTL + STEP);
      expect(await ask(leases, 'a')).toBeUndefined();
      expect(await ask(b, 'b', 'other work')).toBeUndefined();
    });

    it('are not affected by a release from before a renewal', async () => {
      const first = await ask(a, 'a');
      now += TTL / 2;
      await ask(a, 'a');
      await a.release(first!);
      expect(await ask(b, 'b')).toBeUndefined();
    });

    it('of an owner that is gone are not waited for', async () => {
      await ask(a, 'a');
      expect(await ask(b, 'b', 'work', (owner) => owner === 'another')).toBeUndefined();
      expect(await b.owners('', now, TTL, (owner) => owner === 'a')).toEqual([]);
      expect(await ask(b, 'b', 'work', (owner) => owner === 'a')).toMatchObject({ owner: 'b' });
      now += TTL / 2;
      expect(await ask(b, 'b')).toMatchObject({ owner: 'b' });
      expect(await ask(a, 'a')).toBeUndefined();
    });

    it('outlive the process that had them', async () => {
      await ask(a, 'a');
      await a.close();
      const later = await another();
      expect(await ask(later, 'later')).toBeUndefined();
      const wait = await passed(async () => (await ask(later, 'later')) !== undefined);
      expect(wait).toBeGreaterThan(TTL * 0.9);
    });

    it('have owners that are known by the beginning of their names', async () => {
      const names = ['member-1', 'member-2', 'member', 'other'];
      await Promise.all(names.map((one) => ask(a, 'a', one)));
      await ask(b, 'b', 'member-3');
      expect([...(await ownersOf(a, 'member-'))].sort()).toEqual(['a', 'b']);
      expect(await ownersOf(a, 'other')).toEqual(['a']);
      expect(await ownersOf(a, 'nobody')).toEqual([]);
      await passed(async () => {
        for (const one of names) await ask(a, 'a', one);
        return (await ownersOf(a, 'member-')).length === 1;
      });
      expect(await ownersOf(a, 'member-')).toEqual(['a']);
    });

    it('are taken, renewed and released many at a time', async () => {
      const names = Array.from({ length: 64 }, (_, at) => `partition-${at}`);
      const all = async (of: Leases, owner: string): Promise<readonly Lease[]> =>
        (await Promise.all(names.map((one) => ask(of, owner, one)))).filter((lease) => lease !== undefined);
      expect(await all(a, 'a')).toHaveLength(64);
      expect(await all(b, 'b')).toHaveLength(0);
      now += TTL / 2;
      const renewed = await all(a, 'a');
      expect(renewed).toHaveLength(64);
      await Promise.all(renewed.slice(0, 32).map((lease) => a.release(lease)));
      expect(await all(b, 'b')).toHaveLength(32);
    });

    it('raise an error once closed', async () => {
      await a.close();
      await a.close();
      await expect(ask(a, 'a')).rejects.toThrow(/is closed|was closed/);
    });
  });
}
