import { setImmediate as turn } from 'node:timers/promises';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { type LeaseLog } from '../../src/engines/eventstoredb/heartbeats';
import { LogLeases } from '../../src/engines/eventstoredb/log-leases';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { logFolder } from '../support/log-folder';
import { cases } from '../support/size';

const OWNERS = ['one', 'two', 'three', 'four'];
const NAMES = ['matcher', 'partition'];
/** Of leases, and of most delays of a call (ms). */
const [TTL, SLOW] = [300, 30];
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

it('whatever is late, fails or sleeps, nobody is given a lease that another one may still rely on (decisions N3)', async () => {
  const seed = Number(process.env['LEASE_SEED'] ?? Date.now() % 2 ** 31);
  const random = randomFrom(seed);
  const below = (most: number): number => random() * most;
  const isOne = (of: number): boolean => below(of) < 1;
  const time = new SimulatedTime();
  const { file, remove } = await logFolder();
  const { log } = await openLog(file, false);

  /** Every call is late, also after its effect, now and then by more than a lease lasts, and some fail, with an effect or without. */
  async function late<Result>(call: () => Promise<Result>): Promise<Result> {
    await time.sleep(below(isOne(40) ? 3 * TTL : SLOW));
    if (isOne(60)) throw new EngineUnavailable('it does not answer');
    const result = await time.during(call);
    await time.sleep(below(isOne(40) ? 3 * TTL : SLOW));
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
  const seen = { granted: 0, refused: 0, failed: 0, taken: 0, released: 0 };

  /** An owner, with clocks that differ from those of others. */
  async function work(owner: string): Promise<void> {
    const [offset, speed] = [below(1e9), 0.995 + below(0.01)];
    const clock = (): number => offset + speed * time.now;
    const leases = new LogLeases(unsteady, { wall: clock, monotonic: clock });
    let awake = 0;
    const use = async (name: string): Promise<void> => {
      while (time.now < LENGTH) {
        if (isOne(25)) awake = time.now + below(4 * TTL);
        await time.sleep(Math.max(below(TTL / 4), awake - time.now));
        try {
          const lease = await leases.lease(name, owner, clock(), TTL);
          if (lease === undefined) seen.refused += 1;
          else {
            const before = relied.get(name);
            const until = (lease.expires - offset) / speed;
            seen.granted += 1;
            if (before !== undefined && before.owner !== owner) {
              seen.taken += 1;
              // What has ended while it was given is of no use.
              if (before.until > time.now && until > time.now) overlaps.push({ owner, until, before, name });
            }
            if (until > time.now) relied.set(name, { owner, until });
          }
          if (lease !== undefined && isOne(30)) {
            if (relied.get(name)?.owner === owner) relied.delete(name);
            await leases.release(lease);
            seen.released += 1;
          }
        } catch (error) {
          if (!(error instanceof EngineUnavailable)) throw error;
          seen.failed += 1;
        }
      }
    };
    await Promise.all(NAMES.map(use));
  }

  let isOver = false;
  const working = Promise.all(OWNERS.map(work)).finally(() => (isOver = true));
  await time.passUntil(() => isOver);
  await working;
  await log.close();
  await remove();
  expect({ seed, overlaps }).toEqual({ seed, overlaps: [] });
  for (const [what, least] of Object.entries({
    granted: 500,
    refused: 500,
    failed: 50,
    taken: 50,
    released: 10,
  }))
    expect([what, seen[what as keyof typeof seen] >= least]).toEqual([what, true]);
}, 300_000);
