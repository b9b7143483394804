import { runnerWorld } from './runner-world';

const HOUR = 3_600_000;

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
    const attempts: number[] = [];
    start('one', async () => {
      attempts.push(performance.now());
      return { end: 'failure', at: Date.now(), ms: 1, status: 500 };
    });
    isSet = true;
    await due([target!], 1);
    await until(async () => (await outcomes()).length === 2);
    const [first = NaN, second = NaN] = attempts;
    expect(second - first).toBeGreaterThan(4_000);
    expect(second - first).toBeLessThan(60_000);
    // The next one follows in five minutes.
    const { next, at } = (await outcomes())[1]!;
    expect(Date.parse(next!) - Date.parse(at)).toBeGreaterThan(4 * 60_000);
    expect(Date.parse(at) - system()).toBeLessThan(error + 60_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(attempts).toHaveLength(2);
  });
});
