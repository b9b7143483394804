import { type Outcome } from './delivery-events';

/**
 * How a receiver fares, from the outcomes of its attempts alone: when it rests (`docs/decisions.md#n7`), and when it is
 * disabled (`docs/decisions.md#n8`). Times are in epoch ms, those of the attempts.
 */
export interface Health {
  /** Time-outs in a row. */
  readonly timeouts: number;
  /** Attempts by the minute in which they ended, of the last five minutes. */
  readonly minutes: readonly Minute[];
  /**
   * Nothing is attempted until then. Afterwards one attempt is the probe, which ends the rest or makes it `ms` longer.
   */
  readonly rest?: { readonly until: number; readonly ms: number };
  /** Failures since the last success. */
  readonly failing?: { readonly since: number; readonly last: number; readonly count: number };
  readonly succeeded?: number;
}

interface Minute {
  readonly minute: number;
  readonly attempts: number;
  readonly failed: number;
}

/** An attempt that has ended. */
export interface Ended {
  readonly at: number;
  readonly ms: number;
  readonly isSuccess: boolean;
  readonly isTimeout: boolean;
  /** It was attempted at the end of a rest, whatever the system clock shows. */
  readonly isProbe?: boolean;
  /** The receiver has answered 410. */
  readonly isGone: boolean;
}

export const HEALTHY: Health = { timeouts: 0, minutes: [] };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const BREAKER = { timeouts: 5, attempts: 10, share: 0.7, minutes: 5, restMs: 30_000, mostMs: 15 * MINUTE };
const DISABLING = { withoutSuccess: 5 * DAY, failures: 20, apart: 12 * HOUR };

/** How long a receiver has failed when that is reported. */
const REPORTED_MS: readonly number[] = [HOUR, DAY, 3 * DAY];

/** The health after an outcome. One that is not that of an attempt changes nothing, unless the receiver is gone. */
export function afterOutcome(health: Health, outcome: Outcome): Health {
  // If somebody makes the receiver again, it starts over. With an error it is not gone.
  if (outcome.outcome === 'cancelled' && outcome.error === undefined) return HEALTHY;
  return outcome.attempt === undefined ? health : afterAttempt(health, endedOf(outcome));
}

/** An outcome as the end of an attempt. */
export function endedOf({ at, ms = 0, outcome, isTimeout, isProbe, status }: Outcome): Ended {
  return {
    at: Date.parse(at),
    ms,
    isSuccess: outcome === 'delivered',
    isTimeout: isTimeout === true,
    isProbe: isProbe === true,
    isGone: status === GONE,
  };
}

const GONE = 410;

/** The health after one more attempt. When the receiver is disabled by it (`disables`), it starts over. */
export function afterAttempt(health: Health, ended: Ended): Health {
  if (disables(health, ended) !== undefined) return HEALTHY;
  const end = ended.at + ended.ms;
  const { rest } = health;
  const isProbe = rest !== undefined && (ended.isProbe === true || ended.at >= rest.until);
  if (isProbe && ended.isSuccess) return { timeouts: 0, minutes: [], succeeded: end };
  const next: Health = {
    timeouts: ended.isTimeout ? health.timeouts + 1 : 0,
    minutes: counted(health.minutes, end, ended.isSuccess),
    ...(rest === undefined ? {} : { rest }),
    ...failuresAfter(health, ended),
  };
  if (ended.isSuccess || (rest !== undefined && !isProbe)) return next;
  if (isProbe) return { ...next, rest: restFrom(end, Math.min(2 * rest.ms, BREAKER.mostMs)) };
  return isFailing(next) ? { ...next, rest: restFrom(end, BREAKER.restMs) } : next;
}

/** The health after somebody has asked for a probe (epoch ms): a rest that began before is over. */
export function afterProbeRequest(health: Health, at: number): Health {
  const { rest } = health;
  if (rest === undefined || at >= rest.until || at < rest.until - rest.ms) return health;
  return { ...health, rest: { ...rest, until: at } };
}

/** Whether an attempt disables the receiver, and why. */
export function disables(health: Health, ended: Ended): 'gone' | 'failing' | undefined {
  if (ended.isGone) return 'gone';
  if (ended.isSuccess) return undefined;
  const end = ended.at + ended.ms;
  const { since, count } = failuresAfter(health, ended).failing ?? { since: end, count: 0 };
  const hasLasted = end - (health.succeeded ?? since) >= DISABLING.withoutSuccess;
  return hasLasted && count >= DISABLING.failures && end - since >= DISABLING.apart ? 'failing' : undefined;
}

/** The time (ms) for which a receiver has failed, of those that are reported, if an attempt has just reached it. */
export function reportedFailure(before: Health, after: Health): number | undefined {
  const passed = before.failing === undefined ? -1 : before.failing.last - before.failing.since;
  const now = after.failing === undefined ? -1 : after.failing.last - after.failing.since;
  return REPORTED_MS.findLast((ms) => passed < ms && now >= ms);
}

function failuresAfter(health: Health, { at, ms, isSuccess }: Ended): Pick<Health, 'failing' | 'succeeded'> {
  const end = at + ms;
  if (isSuccess) return { succeeded: Math.max(end, health.succeeded ?? 0) };
  const { failing, succeeded } = health;
  return {
    failing: {
      since: failing?.since ?? end,
      last: Math.max(end, failing?.last ?? 0),
      count: (failing?.count ?? 0) + 1,
    },
    ...(succeeded === undefined ? {} : { succeeded }),
  };
}

function counted(minutes: readonly Minute[], end: number, isSuccess: boolean): readonly Minute[] {
  const minute = Math.floor(end / MINUTE);
  const failed = isSuccess ? 0 : 1;
  // Those that are as far ahead were counted before the clock was set back.
  const recent = minutes.filter((one) => Math.abs(one.minute - minute) < BREAKER.minutes);
  const last = recent.at(-1);
  if (last !== undefined && last.minute >= minute) {
    const more = { minute: last.minute, attempts: last.attempts + 1, failed: last.failed + failed };
    return recent.with(-1, more);
  }
  return [...recent, { minute, attempts: 1, failed }];
}

function isFailing({ timeouts, minutes }: Health): boolean {
  if (timeouts >= BREAKER.timeouts) return true;
  const attempts = minutes.reduce((sum, one) => sum + one.attempts, 0);
  const failed = minutes.reduce((sum, one) => sum + one.failed, 0);
  return attempts >= BREAKER.attempts && failed >= BREAKER.share * attempts;
}

function restFrom(end: number, ms: number): NonNullable<Health['rest']> {
  return { until: end + ms, ms };
}
