/**
 * The clock of all that is scheduled in this process (ms, `docs/decisions.md#n3`): the time that has passed, which
 * nobody can set. It stands still while the machine is suspended. Times that are stored are those of the system clock
 * (`Date.now`). Whoever schedules one asks how far ahead it is, once and at once, and waits for that long: setting the
 * system clock afterwards changes nothing.
 */
export function now(): number {
  return performance.now();
}

/** How far ahead a stored time (epoch ms) is; negative if it is over. */
export function msUntil(time: number): number {
  return time - Date.now();
}

/** Of a timer: what is due later is looked at again. */
const LONGEST_MS = 60_000;

/** Calls something at the earliest of the times that it is set to. */
export class Alarm {
  private timer: { readonly at: number; readonly timeout: NodeJS.Timeout } | undefined;

  constructor(private readonly ring: () => void) {}

  /** At a time of `now`, or earlier: then whoever is called sets it again. Undefined sets nothing. */
  set(at: number | undefined): void {
    if (at === undefined || (this.timer !== undefined && this.timer.at <= at)) return;
    this.stop();
    const ms = Math.min(Math.max(1, Math.ceil(at - now())), LONGEST_MS);
    const timeout = setTimeout(() => {
      this.timer = undefined;
      this.ring();
    }, ms);
    this.timer = { at, timeout };
  }

  stop(): void {
    clearTimeout(this.timer?.timeout);
    this.timer = undefined;
  }
}
