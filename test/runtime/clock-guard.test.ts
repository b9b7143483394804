import { ClockGuard, SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestClock } from '../support/clock';

const [SECOND, MINUTE, DAY] = [1_000, 60_000, 86_400_000];

let wall: number;
let monotonic: number;
let warnings: string[];
let guard: ClockGuard;
beforeEach(() => {
  [wall, monotonic, warnings] = [1_700_000_000_000, 0, []];
  guard = new ClockGuard(
    new TestClock(
      () => wall,
      () => monotonic,
    ),
    'automatic transitions',
    (message) => warnings.push(message),
  );
});

/** Lets time pass, of which the wall clock notices more or less. */
function pass(milliseconds: number, error = 0): number | undefined {
  monotonic += milliseconds;
  wall += milliseconds + error;
  return guard.now();
}

test('a clock that is right, slow, or fast by up to a minute at a time is trusted', () => {
  for (const error of [0, 3 * SECOND, MINUTE, -MINUTE, -DAY, MINUTE]) expect(pass(SECOND, error)).toBe(wall);
  // However long nobody has looked.
  expect(pass(30 * DAY)).toBe(wall);
  expect(warnings).toEqual([]);
});

test('one that jumps ahead by more than a minute is not, for ten minutes (decisions T4)', () => {
  expect(pass(SECOND, MINUTE + 1)).toBeUndefined();
  expect(pass(10 * MINUTE - 1)).toBeUndefined();
  expect(pass(1)).toBe(wall);
  expect(pass(SECOND)).toBe(wall);
  expect(warnings).toEqual([
    expect.stringContaining('jumped ahead by 60 s'),
    expect.stringContaining('not set back within ten minutes'),
  ]);
});

test('one that is set right is trusted at once, one that is not quite set right is not (decisions T4)', () => {
  expect(pass(SECOND, DAY)).toBeUndefined();
  expect(pass(SECOND, -DAY / 2)).toBeUndefined();
  expect(pass(SECOND, -DAY / 2)).toBe(wall);
  expect(pass(SECOND, DAY)).toBeUndefined();
});

test('another jump begins another ten minutes, and the clock before the first one counts (decisions T4)', () => {
  expect(pass(SECOND, DAY)).toBeUndefined();
  expect(pass(9 * MINUTE, DAY)).toBeUndefined();
  expect(pass(9 * MINUTE)).toBeUndefined();
  expect(pass(SECOND, -DAY)).toBeUndefined();
  expect(pass(SECOND, -DAY)).toBe(wall);
});

test('what is late is done at once: a timer has no negative time, of which Node.js 22 and later warn', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  await new Promise<void>((resolve) => SYSTEM_CLOCK.timer(-3, resolve));
  const [[, ms] = []] = timers.mock.calls;
  timers.mockRestore();
  expect(ms).toBe(0);
});
