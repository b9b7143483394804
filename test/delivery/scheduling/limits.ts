import { type Started } from '../../../src/delivery/scheduling/scheduler';
import { type Sent, type World } from './simulated-world';

/** Raises as soon as a limit is broken (`docs/decisions.md#n7`). */
export function checkLimits(world: World, hostOf = (receiver: string) => receiver): void {
  world.onStart = ({ receiver, pool }) => {
    const flying = [...world.inFlight];
    const inPool = countBy(flying, (started) => started.pool);
    const perHost = countBy(flying, (started) => hostOf(started.receiver.id));
    const own = flying.filter((started) => started.receiver === receiver);
    expect(own.length).toBeLessThanOrEqual(pool === 'normal' ? 4 : 1);
    expect(Math.max(...perHost.values())).toBeLessThanOrEqual(16);
    if (pool === 'slow' || pool === 'hung') {
      const unhurried = flying.filter((started) => started.pool === 'slow' || started.pool === 'hung');
      const atHosts = countBy(unhurried, (started) => hostOf(started.receiver.id));
      expect(Math.max(...atHosts.values())).toBeLessThanOrEqual(12);
    }
    expect(inPool.get('normal') ?? 0).toBeLessThanOrEqual(256);
    expect(inPool.get('slow') ?? 0).toBeLessThanOrEqual(128);
    expect(inPool.get('hung') ?? 0).toBeLessThanOrEqual(128);
    expect(flying.length).toBeLessThanOrEqual(2_048);
    if (isCrowd(flying) && own.some((started) => started.pool === 'late')) expect(own).toHaveLength(1);
    const { rest } = receiver.state.health;
    if (rest !== undefined) expect(own).toHaveLength(1);
  };
}

function isCrowd(flying: readonly Started[]): boolean {
  return flying.filter(({ pool }) => pool === 'normal' || pool === 'late').length > 256;
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** Of first attempts about each subject to a receiver, each starts when the one before has ended. */
export function expectOrder(sent: readonly Sent[]): void {
  const last = new Map<string, Sent>();
  for (const one of sent) {
    if (one.kind !== 'first') continue;
    const key = `${one.message.receiver} ${one.message.subject}`;
    const before = last.get(key);
    if (before !== undefined) {
      const isAgain = before.revision === one.revision && before.outcome === undefined;
      expect(one.revision > before.revision || isAgain).toBe(true);
      expect(one.started).toBeGreaterThanOrEqual(before.ended);
    }
    last.set(key, one);
  }
}
