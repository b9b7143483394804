import { now } from './clock';

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
