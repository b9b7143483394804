/** The present, as handlers take it; tests provide another one. */
export class Clock {
  now(): Date {
    return new Date();
  }
}

/** The clock of the system, and one that nobody can set. Both in ms. */
export interface Clocks {
  readonly wall: () => number;
  readonly monotonic: () => number;
}

export const SYSTEM_CLOCKS: Clocks = { wall: Date.now, monotonic: () => performance.now() };

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
    private readonly clocks: Clocks,
    private readonly actions: string,
    private readonly warn: (message: string) => void,
  ) {
    this.last = clocks.wall() - clocks.monotonic();
  }

  /** The present in epoch ms; undefined while the clock is not trusted. */
  now(): number | undefined {
    const [wall, passed] = [this.clocks.wall(), this.clocks.monotonic()];
    const difference = wall - passed;
    const jump = difference - this.last;
    if (jump > JUMP_MS) {
      this.suspension = { trusted: this.suspension?.trusted ?? this.last, until: passed + SUSPENDED_MS };
      this.warn(
        `the system clock has jumped ahead by ${Math.round(jump / 1000)} s: ${this.actions} are suspended for ten minutes, unless it is set right`,
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
