import { setTimeout as pause } from 'node:timers/promises';

/** Waits between attempts: twice as long after each failure, up to a longest one (ms). */
export class Backoff {
  private next: number;

  constructor(private readonly waits: { readonly first: number; readonly longest: number }) {
    this.next = waits.first;
  }

  /** How long (ms) the next wait takes. */
  get nextMs(): number {
    return this.next;
  }

  /** An attempt has succeeded: the next wait is the first one again. */
  reset(): void {
    this.next = this.waits.first;
  }

  /** Waits, `mostMs` at most; ends early, without an error, when the signal aborts. */
  async wait(signal?: AbortSignal, mostMs = Infinity): Promise<void> {
    const ms = Math.min(this.next, mostMs);
    this.next = Math.min(2 * this.next, this.waits.longest);
    await pause(ms, undefined, signal && { signal }).catch(() => undefined);
  }
}
