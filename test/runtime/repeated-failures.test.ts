import { RepeatedFailures } from '../../src/runtime/failure-report';
import { TestClock } from '../support/clock';

describe('a failure that repeats (decisions X87)', () => {
  const MINUTE = 60_000;
  let now: number;
  let repeated: RepeatedFailures;
  beforeEach(() => {
    now = 0;
    repeated = new RepeatedFailures(new TestClock(Date.now, () => now));
  });

  it('is logged at first, then once a minute with the number of those in between', () => {
    const counts = Array.from({ length: 7 }, (_, at) => {
      now = (at * MINUTE) / 3;
      return repeated.count('the disk is full');
    });
    expect(counts).toEqual([0, undefined, undefined, 2, undefined, undefined, 2]);
  });

  it('is logged when it differs, and does not hide others', () => {
    const failures = ['a', 'b', 'a', 'b', 'c'];
    expect(failures.map((failure) => repeated.count(failure))).toEqual([0, 0, undefined, undefined, 0]);
  });

  it('is forgotten when there are too many different ones: memory is bounded', () => {
    for (let at = 0; at <= 100; at += 1) expect(repeated.count(`failure ${at}`)).toBe(0);
    expect(repeated.count('failure 0')).toBe(0);
    expect(repeated.count('failure 100')).toBeUndefined();
  });
});
