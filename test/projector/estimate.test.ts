import { meanPace, type Pace, RebuildEstimate } from '../../src/projector/progress-meter';
import { TestClock } from '../support/clock';

/** A rebuild as a model: what each part of reading the log takes, then building indexes, then comparing (s). */
interface Model {
  readonly parts: readonly number[];
  readonly index: number;
  readonly compare: number;
}

/** What is estimated to be left after each second, and what is left. */
function run({ parts, index, compare }: Model, pace?: Pace) {
  let now = 0;
  const clock = new TestClock(
    () => 0,
    () => now,
  );
  const estimate = new RebuildEstimate(clock, pace, compare > 0);
  const total = parts.reduce((a, b) => a + b, 0) + index + compare;
  const seen: { readonly done: number; readonly estimated: number; readonly left: number }[] = [];
  const look = () =>
    seen.push({
      ...{ done: now / 1000 / total, left: total - now / 1000 },
      estimated: estimate.secondsLeft ?? Infinity,
    });
  estimate.enter('project');
  estimate.reached('project', 0);
  for (const [at, seconds] of parts.entries()) {
    now += 1000 * seconds;
    estimate.reached('project', (at + 1) / parts.length);
    look();
  }
  for (const [step, seconds] of [
    ['index', index],
    ['compare', compare],
  ] as const) {
    estimate.enter(step);
    for (let at = 0; at < seconds; at += seconds / 20) {
      now += (1000 * seconds) / 20;
      if (step === 'compare') estimate.reached(step, (at + seconds / 20) / seconds);
      look();
    }
  }
  estimate.enter('swap');
  expect(estimate.secondsLeft).toBe(0);
  return { seen, measured: estimate.measured, total };
}

/** By how much of the whole time the estimated end is wrong at most, after the first tenth. */
function worst({ seen, total }: ReturnType<typeof run>): number {
  const late = seen.filter(({ done }) => done >= 0.1);
  expect(late.length).toBeGreaterThan(20);
  return Math.max(...late.map(({ estimated, left }) => Math.abs(estimated - left) / total));
}

/** A repeatable number from 0 to 1. */
const noise = (at: number): number => Math.abs(Math.sin(at * 12.9898) * 43758.5453) % 1;
const equal = Array.from({ length: 200 }, () => 1);
const ratio = { index: 0.2, compare: 0.15 };
const withRest = (parts: readonly number[], { index, compare } = ratio): Model => {
  const whole = parts.reduce((a, b) => a + b, 0);
  return { parts, index: index * whole, compare: compare * whole };
};

describe('the estimated end of a rebuild is within 20 % after the first tenth (decisions X128)', () => {
  test.each<readonly [string, readonly number[]]>([
    ['parts of the log take the same', equal],
    ['they take between half and three times as long', equal.map((_, at) => 0.5 + 2.5 * noise(at))],
    ['some wait for live read models', equal.map((_, at) => (noise(at) > 0.9 ? 5 : 1))],
    ['later ones take a third longer', equal.map((_, at) => 1 + at / 600)],
    ['the first one takes as long as ten', [10, ...equal]],
  ])('if %s', (_, parts) => {
    expect(worst(run(withRest(parts), ratio))).toBeLessThan(0.2);
  });

  /** Parts of which the first take far longer: Elasticsearch digests what was loaded before. */
  const slow = (many: number, times: number): readonly number[] =>
    equal.map((_, at) => (at < many ? times : 1));

  /** The steps behind it take as long as otherwise. */
  const begun = (parts: readonly number[]): Model => ({ ...withRest(equal), parts });

  test.each([
    ['three parts as long as forty', slow(3, 14)],
    ['a twentieth of the log', slow(10, 8)],
    ['becoming faster', equal.map((_, at) => Math.max(1, 16 / (at + 1)))],
  ])('if the beginning is slow, and the last time is known: %s', (_, parts) => {
    const { measured } = run(withRest(equal), {});
    expect(worst(run(begun(parts)))).toBeGreaterThan(1);
    expect(worst(run(begun(parts), measured))).toBeLessThan(0.2);
  });

  test('if the beginning was slow the first time, from when the rest has its pace', () => {
    const { seen, total } = run(begun(slow(10, 8)), ratio);
    for (const { estimated, left } of seen.filter(({ done }) => done > 0.4))
      expect(Math.abs(estimated - left) / total).toBeLessThan(0.25);
  });

  test('if everything takes three times as long as the last time, from a tenth of the log on', () => {
    const { measured } = run(withRest(equal), {});
    expect(worst(run(withRest(equal.map(() => 3)), measured))).toBeLessThan(0.2);
  });

  test('if what follows takes as long as the last time, which was unusual', () => {
    const unusual = withRest(equal, { index: 1, compare: 0.8 });
    expect(worst(run(unusual))).toBeGreaterThan(0.2);
    const { measured } = run(unusual);
    expect(measured!.index).toBeCloseTo(1);
    expect(measured!.compare).toBeCloseTo(0.8);
    expect(worst(run(unusual, measured))).toBeLessThan(0.2);
  });

  test.each([
    ['a million products over SQLite', { index: 0.25, compare: 0.15 }],
    ['20,000 products over SQLite, with searches', { index: 0.27, compare: 0.28 }],
    ['indexes that are made at once', { index: 0, compare: 0.3 }],
  ])('if nothing is remembered: %s', (_, steps) => {
    expect(worst(run(withRest(equal, steps), meanPace([])))).toBeLessThan(0.2);
  });

  test('if read models were rebuilt apart from each other: what they took is averaged', () => {
    const mean = meanPace([ratio, { index: 0.4, compare: 0.05 }]);
    expect(mean.index).toBeCloseTo(0.3);
    expect(mean.compare).toBeCloseTo(0.1);
    expect(meanPace([{ index: 0.1 }, { index: 0.3, compare: 0.2 }]).compare).toBe(0.2);
  });

  test('while it compares, by how much is compared', () => {
    const slow = withRest(equal, { index: 0.2, compare: 1.5 });
    const { seen, total } = run(slow, ratio);
    const half = seen.filter(({ done }) => done > 0.7);
    for (const { estimated, left } of half) expect(Math.abs(estimated - left) / total).toBeLessThan(0.05);
  });

  test('if there is nothing to compare with', () => {
    const model = { ...withRest(equal), compare: 0 };
    expect(worst(run(model, ratio))).toBeLessThan(0.2);
  });

  test('is not known before some of the log was read, unless it is known how long the last time took', () => {
    let now = 0;
    const clock = new TestClock(
      () => 0,
      () => now,
    );
    const [first, second] = [{}, { read: 2, index: 0.5 }].map(
      (pace) => new RebuildEstimate(clock, pace, false, 10_000),
    );
    for (const [share, ms] of [
      [0, 0],
      [0.01, 500],
    ] as const) {
      now += ms;
      for (const one of [first!, second!]) {
        one.enter('project');
        one.reached('project', share);
      }
      expect(first!.secondsLeft).toBeUndefined();
      expect(second!.secondsLeft).toBeCloseTo(20 * (1 - share) + 10);
    }
    now += 4_500;
    first!.reached('project', 0.1);
    expect(first!.secondsLeft).toBeGreaterThan(30);
  });

  test('if it continues in the middle of the log', () => {
    let now = 0;
    const clock = new TestClock(
      () => 0,
      () => now,
    );
    const estimate = new RebuildEstimate(clock, { index: 0.5, compare: 0 }, false);
    estimate.enter('project');
    estimate.reached('project', 0.5);
    now += 10_000;
    estimate.reached('project', 0.6);
    expect(estimate.secondsLeft).toBeCloseTo(40 + 50);
  });

  test.each([
    [0.4, 10, 0.5],
    [0.6, 10, undefined],
    [1, 10, undefined],
    [0, 4, 0.5],
    // An empty installation, of which this would be remembered until the first rebuild of a full one.
    [0, 0.02, undefined],
  ])('and is remembered if much was read: from %d of a log of %d s', (from, seconds, index) => {
    let now = 0;
    const estimate = new RebuildEstimate(
      new TestClock(
        () => 0,
        () => now,
      ),
    );
    estimate.enter('project');
    for (let tenths = 10 * from; tenths <= 10; tenths += 1) {
      estimate.reached('project', tenths / 10);
      now += tenths < 10 ? 100 * seconds : 0;
    }
    estimate.enter('index');
    now += 500 * seconds;
    estimate.enter('compare');
    estimate.enter('swap');
    if (index === undefined) expect(estimate.measured).toBeUndefined();
    else expect(estimate.measured!.index).toBeCloseTo(index, 1);
  });
});
