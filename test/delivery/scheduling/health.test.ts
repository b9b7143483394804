import {
  afterAttempt,
  disables,
  type Ended,
  type Health,
  HEALTHY,
  reportedFailure,
} from '../../../src/domain/deliveries/health';
import { DELAYS, nextAttempt } from '../../../src/delivery/scheduling/outcome';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = Date.parse('2026-03-01T00:00:00Z');

const NO = { isSuccess: false, isTimeout: false, isGone: false, ms: 0 };
const failed = (at: number): Ended => ({ ...NO, at: T0 + at });
const timedOut = (at: number): Ended => ({ ...NO, at: T0 + at, isTimeout: true });
const succeeded = (at: number): Ended => ({ ...NO, at: T0 + at, isSuccess: true });

function after(attempts: readonly Ended[], from: Health = HEALTHY): Health {
  return attempts.reduce(afterAttempt, from);
}

const times = (count: number, make: (at: number) => Ended, apart = SECOND): readonly Ended[] =>
  Array.from({ length: count }, (_, at) => make(at * apart));

describe('The schedule', () => {
  it('is that of the table, with a jitter of a fifth that follows from message and attempt (decisions N3)', () => {
    const total = DELAYS.reduce((sum, delay) => sum + delay, 0);
    expect(DELAYS).toHaveLength(9);
    expect(total / DAY).toBeGreaterThan(3);
    const shares = DELAYS.flatMap((delay, at) =>
      Array.from({ length: 200 }, (_, message) => {
        const attempt = { id: `msg_${message}`, attempt: at + 1, ended: T0 };
        expect(nextAttempt(attempt)).toBe(nextAttempt(attempt));
        return ((nextAttempt(attempt) ?? NaN) - T0) / delay;
      }),
    );
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.8);
    expect(Math.min(...shares)).toBeLessThan(0.81);
    expect(Math.max(...shares)).toBeLessThanOrEqual(1.2);
    expect(Math.max(...shares)).toBeGreaterThan(1.19);
  });

  it('ends with the tenth attempt (decisions N3)', () => {
    expect(nextAttempt({ id: 'msg_1', attempt: 9, ended: T0 })).toBeDefined();
    expect(nextAttempt({ id: 'msg_1', attempt: 10, ended: T0 })).toBeUndefined();
  });

  it('is extended by Retry-After, to 24 hours at most, and never shortened (decisions N3)', () => {
    const first = { id: 'msg_1', attempt: 1, ended: T0 };
    expect(nextAttempt({ ...first, retryAfter: HOUR })).toBe(T0 + HOUR);
    expect(nextAttempt({ ...first, retryAfter: 30 * DAY })).toBe(T0 + DAY);
    expect(nextAttempt({ ...first, retryAfter: 1 })).toBe(nextAttempt(first));
  });
});

describe('The breaker', () => {
  it('lets a receiver rest for 30 seconds after 5 time-outs in a row (decisions N7)', () => {
    expect(after(times(4, timedOut)).rest).toBeUndefined();
    expect(after(times(5, timedOut)).rest).toEqual({ until: T0 + 4 * SECOND + 30 * SECOND, ms: 30_000 });
    expect(after([...times(4, timedOut), succeeded(5000), ...times(4, timedOut)]).rest).toBeUndefined();
  });

  it('lets it rest when 70 % of at least 10 attempts within 5 minutes have failed (decisions N7)', () => {
    expect(after(times(9, failed)).rest).toBeUndefined();
    expect(after(times(10, failed)).rest).toBeDefined();
    expect(after([...times(3, succeeded), ...times(6, failed)]).rest).toBeUndefined();
    expect(after([...times(3, succeeded), ...times(7, failed)]).rest).toBeDefined();
    expect(after([...times(4, succeeded), ...times(9, failed)]).rest).toBeUndefined();
    expect(after(times(40, failed, 40 * SECOND)).rest).toBeUndefined();
  });

  it('doubles the rest with each failed probe, to 15 minutes at most, and ends with a success (decisions N7)', () => {
    let health = after(times(5, timedOut));
    const rests: number[] = [];
    for (let probe = 0; probe < 7; probe += 1) {
      health = afterAttempt(health, { ...timedOut(0), at: health.rest?.until ?? NaN });
      rests.push((health.rest?.ms ?? NaN) / SECOND);
    }
    expect(rests).toEqual([60, 120, 240, 480, 900, 900, 900]);
    expect(afterAttempt(health, { ...succeeded(0), at: health.rest?.until ?? NaN }).rest).toBeUndefined();
  });

  it('does not count what was in flight when the rest began as its probe (decisions N7)', () => {
    const resting = after(times(5, timedOut));
    expect(afterAttempt(resting, { ...failed(0), ms: 15 * SECOND }).rest).toEqual(resting.rest);
    expect(afterAttempt(resting, { ...succeeded(0), ms: 15 * SECOND }).rest).toEqual(resting.rest);
  });
});

describe('Disabling', () => {
  const disabledAt = (attempts: readonly Ended[]): number => {
    let health: Health = HEALTHY;
    return attempts.findIndex((ended) => {
      const reason = disables(health, ended);
      health = afterAttempt(health, ended);
      return reason !== undefined;
    });
  };

  it('happens at once with an answer 410 (decisions N8)', () => {
    expect(disables(HEALTHY, { ...failed(0), isGone: true })).toBe('gone');
  });

  it('happens when nothing has succeeded for five days and 20 attempts have failed (decisions N8)', () => {
    expect(disabledAt(times(40, failed, 6 * HOUR))).toBe(20);
    expect(disabledAt(times(40, failed, 5 * HOUR))).toBe(24);
    expect(disabledAt(times(40, failed, 9 * HOUR))).toBe(19);
    expect(disabledAt(times(19, failed, 9 * HOUR))).toBe(-1);
    expect(disabledAt([...times(20, failed, 6 * HOUR), succeeded(119 * HOUR), failed(121 * HOUR)])).toBe(-1);
  });

  it('needs the first and the last failure to be 12 hours apart (decisions N8)', () => {
    const lately = (apart: number) => [succeeded(0), ...times(40, (at) => failed(6 * DAY + at), apart)];
    expect(disabledAt(lately(MINUTE))).toBe(-1);
    expect(disabledAt(lately(HOUR))).toBe(20);
  });

  it('starts to count anew once the receiver is enabled (decisions N8)', () => {
    const disabled = after(times(25, failed, 5 * HOUR));
    expect(disabled.failing).toBeUndefined();
    expect(disables(disabled, failed(6 * DAY))).toBeUndefined();
  });

  it('is announced after an hour, a day and three days (decisions N8)', () => {
    let health: Health = HEALTHY;
    const reported = times(100, failed, HOUR).flatMap((ended, hour) => {
      const next = afterAttempt(health, ended);
      const ms = reportedFailure(health, next);
      health = next;
      return ms === undefined ? [] : [[hour, ms / HOUR]];
    });
    expect(reported).toEqual([
      [1, 1],
      [24, 24],
      [72, 72],
    ]);
  });
});
