import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

export interface Timer {
  cancel(): void;
  /** The process may end before it. */
  unref(): Timer;
}

/**
 * Time, timers and chance. Code takes them from the clock it is given and from nowhere else (`eslint.config.mjs`), so
 * that a simulation can decide them. All times are in ms.
 */
export abstract class Clock {
  /** The last of those who yield. */
  private yielding: Promise<unknown> = Promise.resolve();

  /** The system time since 1970, which somebody may set: ahead or back. */
  abstract wall(): number;
  /** The time since some moment. Nobody can set it; it stands still while the machine is suspended. */
  abstract monotonic(): number;
  /** Resolves after a time; rejects with an `AbortError` when the signal aborts. */
  abstract pause(ms: number, signal?: AbortSignal): Promise<void>;
  abstract timer(ms: number, callback: () => void): Timer;
  /** A timer that repeats until it is cancelled. */
  abstract interval(ms: number, callback: () => void): Timer;
  /** Calls back after the pending I/O events. */
  abstract soon(callback: () => void): void;
  /** A number from 0 to below 1. */
  abstract random(): number;
  /** A new random UUID. */
  abstract uuid(): string;

  /** The system time as a date. */
  now(): Date {
    return new Date(this.wall());
  }

  /**
   * Yields to the event loop. All callers share one queue, and each round of the event loop resumes one of them, so a
   * request waits for one slice of work at most, however many callers are busy.
   */
  async yield(): Promise<void> {
    const resumed = this.yielding.then(() => new Promise<void>((resolve) => this.soon(resolve)));
    this.yielding = resumed;
    await resumed;
  }
}

export class SystemClock extends Clock {
  wall(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return pause(Math.max(0, ms), undefined, signal && { signal });
  }

  timer(ms: number, callback: () => void): Timer {
    // Node.js 22 and later warn of times that have passed.
    return new SystemTimer(setTimeout(callback, Math.max(0, ms)));
  }

  interval(ms: number, callback: () => void): Timer {
    return new SystemTimer(setInterval(callback, ms));
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  random(): number {
    return Math.random();
  }

  uuid(): string {
    return randomUUID();
  }
}

/** For the outermost code, which hands it down. */
export const SYSTEM_CLOCK: Clock = new SystemClock();

class SystemTimer implements Timer {
  constructor(private readonly timeout: NodeJS.Timeout) {}

  /** `clearTimeout` clears intervals too. */
  cancel(): void {
    clearTimeout(this.timeout);
  }

  unref(): Timer {
    this.timeout.unref();
    return this;
  }
}

/** A clock that is ahead of the time that has passed by more than this (ms) was set. */
const JUMP_MS = 60_000;
/** How long a clock that was set ahead is not trusted (ms). */
const SUSPENDED_MS = 600_000;

/**
 * The system clock, distrusted for ten minutes after it has jumped ahead by more than a minute
 * (`docs/decisions.md#t4`). If it is set right within them, nobody has seen the wrong time. A jump back is passed on:
 * what is due is due later.
 */
export class ClockGuard {
  /** The difference between both clocks when they were last read. */
  private last: number;
  private suspension: { readonly trusted: number; readonly until: number } | undefined;

  /** `warn` receives a message when `actions` (a plural) are suspended, and when they continue. */
  constructor(
    private readonly clock: Clock,
    private readonly actions: string,
    private readonly warn: (message: string) => void,
  ) {
    this.last = clock.wall() - clock.monotonic();
  }

  /** The present in epoch ms; undefined while the clock is not trusted. */
  now(): number | undefined {
    const [wall, passed] = [this.clock.wall(), this.clock.monotonic()];
    const difference = wall - passed;
    const jump = difference - this.last;
    if (jump > JUMP_MS) {
      this.suspension = { trusted: this.suspension?.trusted ?? this.last, until: passed + SUSPENDED_MS };
      this.warn(
        `the system clock has jumped ahead by ${Math.round(jump / 1000)} s: ${this.actions} are suspended for ten ` +
          'minutes, unless it is set right',
      );
    }
    this.last = difference;
    if (this.suspension === undefined) return wall;
    const isRight = difference - this.suspension.trusted <= JUMP_MS;
    if (!isRight && passed < this.suspension.until) return undefined;
    this.suspension = undefined;
    this.warn(
      isRight
        ? `the system clock was set right: ${this.actions} continue`
        : `the system clock was not set back within ten minutes: ${this.actions} continue`,
    );
    return wall;
  }
}

/** Of a timer: what is due later is looked at again. */
const LONGEST_ALARM_MS = 60_000;

/** Calls something at the earliest of the times that it is set to. */
export class Alarm {
  private next: { readonly at: number; readonly timer: Timer } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  /** At a monotonic time, or earlier: then whoever is called sets it again. Undefined sets nothing. */
  set(at: number | undefined): void {
    if (at === undefined || (this.next !== undefined && this.next.at <= at)) return;
    this.stop();
    const ms = Math.min(Math.max(1, Math.ceil(at - this.clock.monotonic())), LONGEST_ALARM_MS);
    const timer = this.clock.timer(ms, () => {
      this.next = undefined;
      this.ring();
    });
    this.next = { at, timer };
  }

  stop(): void {
    this.next?.timer.cancel();
    this.next = undefined;
  }
}
