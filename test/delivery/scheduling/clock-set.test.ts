import { SkippingClock } from '../../support/clock';
import { runnerWorld } from './runner-world';

const HOUR = 3_600_000;

/** Longer than what the tests skip. */
const LEASE = { leaseMs: 60_000 };

describe('A notifier whose system clock is set', () => {
  const { start, targetsOf, due, outcomes, until } = runnerWorld();
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['back by 12 hours', -12 * HOUR],
    ['ahead by 8 hours', 8 * HOUR],
  ])('%s, retries after the same delay (decisions N3)', async (_, error) => {
    const system = Date.now.bind(Date);
    let isSet = false;
    jest.spyOn(Date, 'now').mockImplementation(() => system() + (isSet ? error : 0));
    const [target] = await targetsOf(1);
    const clock = new SkippingClock();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      return { end: 'failure', at: clock.wall(), ms: 1, status: 500 } as const;
    };
    start('one', attempt, { clock }, LEASE);
    isSet = true;
    await due([target!], 1);
    await until(async () => (await outcomes()).length === 1);
    // The delay is five seconds, more or less a fifth.
    clock.skip(3_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(attempts).toBe(1);
    clock.skip(3_000);
    await until(async () => (await outcomes()).length === 2);
    // The next one follows in five minutes.
    const { next, at } = (await outcomes())[1]!;
    expect(Date.parse(next!) - Date.parse(at)).toBeGreaterThan(4 * 60_000);
    expect(Date.parse(at) - system()).toBeLessThan(error + 60_000);
    clock.skip(200_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(attempts).toBe(2);
  });
});
