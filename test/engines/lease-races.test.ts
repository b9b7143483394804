import { setImmediate as turn } from 'node:timers/promises';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { type LeaseLog, LogLeases } from '../../src/engines/eventstoredb/log-leases';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { TestClock } from '../support/clock';
import { logFolder } from '../support/log-folder';
import { cases } from '../support/size';

const OWNERS = ['one', 'two', 'three', 'four'];
const NAMES = ['matcher', 'partition'];
/** Of leases, and of most delays of a call (ms). */
const [TTL, SLOW] = [300, 30];
/** How long an owner does not want a lease that it has given up, while it renews another one (ms). */
const REST = 100 * TTL;
/** Of the simulation (ms). */
const LENGTH = cases(1_200_000, 120_000);

/** A time of its own: it passes when nothing else is to be done. */
class SimulatedTime {
  now = 0;
  private working = 0;
  private readonly sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((wake) => this.sleepers.push({ at: this.now + ms, wake }));
  }

  /** Work that takes no time. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.working += 1;
    return await work().finally(() => (this.working -= 1));
  }

  async passUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      do await turn();
      while (this.working > 0);
      const [next] = this.sleepers.sort((a, b) => a.at - b.at).splice(0, 1);
      if (next === undefined) continue;
      this.now = Math.max(this.now, next.at);
      next.wake();
    }
  }
}

/** A linear congruential generator: numbers from 0 to below 1. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

/**
 * How rarely something is later than a lease lasts, or an owner sleeps, and how long nobody has a lease that others
 * want (ms).
 */
const SITUATIONS = [
  ['often', { rarity: 1, longestWait: Infinity }],
  ['rarely', { rarity: 100, longestWait: 20 * TTL }],
] as const;

it.each(SITUATIONS)(
  'whatever is late, fails or sleeps (%s), nobody is given a lease that another one may still rely on, and one that is not renewed becomes free (decisions N3)',
  async (_, { rarity, longestWait }) => {
    const seed = Number(process.env['LEASE_SEED'] ?? Date.now() % 2 ** 31);
    const random = randomFrom(seed);
    const below = (most: number): number => random() * most;
    const isOne = (of: number): boolean => below(of) < 1;
    const time = new SimulatedTime();
    const { file, remove } = await logFolder();
    const { log } = await openLog(file, false);

    /**
     * Every call is late, also after its effect, now and then by more than a lease lasts, and some fail, with an effect
     * or without.
     */
    async function late<Result>(call: () => Promise<Result>): Promise<Result> {
      await time.sleep(below(isOne(40 * rarity) ? 3 * TTL : SLOW));
      if (isOne(60)) throw new EngineUnavailable('it does not answer');
      const result = await time.during(call);
      await time.sleep(below(isOne(40 * rarity) ? 3 * TTL : SLOW));
      if (isOne(60)) throw new EngineUnavailable('its answer was lost');
      return result;
    }
    const unsteady: LeaseLog = {
      append: (...args) => late(() => log.append(...args)),
      readStream: async function* (...args) {
        yield* await late(async () => {
          const batches = [];
          for await (const batch of log.readStream(...args)) batches.push(batch);
          return batches;
        });
      },
      describe: () => late(async () => undefined),
      close: async () => undefined,
    };

    /** Who was given each lease last, and until when it may rely on it. */
    const relied = new Map<string, { readonly owner: string; readonly until: number }>();
    const overlaps: unknown[] = [];
    /** How long nobody had a lease, at most (ms). */
    let waited = 0;
    const seen = { granted: 0, refused: 0, failed: 0, taken: 0, released: 0 };

    /** An owner, with clocks that differ from those of others. */
    async function work(owner: string): Promise<void> {
      const [offset, speed] = [below(1e9), 0.995 + below(0.01)];
      const own = (): number => offset + speed * time.now;
      const leases = new LogLeases(unsteady, new TestClock(own, own));
      let awake = 0;
      const rests = new Map<string, number>();
      const use = async (name: string): Promise<void> => {
        while (time.now < LENGTH) {
          if (isOne(25 * rarity)) awake = time.now + below(4 * TTL);
          // One of them always wants all.
          if (owner !== OWNERS[0] && NAMES.includes(name) && isOne(200)) rests.set(name, time.now + REST);
          const busyUntil = Math.max(awake, rests.get(name) ?? 0);
          await time.sleep(Math.max(below(TTL / 4), busyUntil - time.now));
          try {
            const lease = await leases.lease(name, owner, own, TTL);
            if (lease === undefined) seen.refused += 1;
            else {
              const before = relied.get(name);
              const until = (lease.expires - offset) / speed;
              seen.granted += 1;
              if (before !== undefined && before.owner !== owner) {
                seen.taken += 1;
                // What has ended while it was given is of no use.
                if (before.until > time.now && until > time.now)
                  overlaps.push({ owner, until, before, name });
              }
              if (until > time.now) {
                const free = Math.min(LENGTH, time.now) - (before?.until ?? 0);
                if (NAMES.includes(name)) waited = Math.max(waited, free);
                relied.set(name, { owner, until });
              }
            }
            if (lease !== undefined && NAMES.includes(name) && isOne(30)) {
              if (relied.get(name)?.owner === owner) relied.set(name, { owner, until: time.now });
              if (owner !== OWNERS[0] && isOne(4)) rests.set(name, time.now + REST);
              await leases.release(lease);
              seen.released += 1;
            }
          } catch (error) {
            if (!(error instanceof EngineUnavailable)) throw error;
            seen.failed += 1;
          }
        }
      };
      // As notifiers do, each also has one that nobody else asks for.
      await Promise.all([...NAMES, `member-${owner}`].map(use));
    }

    let isOver = false;
    const working = Promise.all(OWNERS.map(work)).finally(() => (isOver = true));
    await time.passUntil(() => isOver);
    await working;
    await log.close();
    await remove();
    expect({ seed, overlaps }).toEqual({ seed, overlaps: [] });
    expect({ seed, waited, isTooLong: waited > longestWait }).toEqual({ seed, waited, isTooLong: false });
    for (const [what, least] of Object.entries({
      granted: 500,
      refused: 500,
      failed: 50,
      taken: 20,
      released: 10,
    }))
      expect([what, seen[what as keyof typeof seen] >= least]).toEqual([what, true]);
  },
);
