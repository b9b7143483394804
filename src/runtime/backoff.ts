import { setTimeout as pause } from 'node:timers/promises';

/** Exponential back-off: the delay (ms) doubles after each wait, up to `longest`. */
export class Backoff {
  private next: number;

  constructor(private readonly delays: { readonly first: number; readonly longest: number }) {
    this.next = delays.first;
  }

  /** The delay (ms) of the next wait. */
  get nextMs(): number {
    return this.next;
  }

  /** Call after a success: the next delay is the first one again. */
  reset(): void {
    this.next = this.delays.first;
  }

  /** Waits for the delay, at most `mostMs`. Returns early, without an error, when the signal aborts. */
  async wait(signal?: AbortSignal, mostMs = Infinity): Promise<void> {
    const ms = Math.min(this.next, mostMs);
    this.next = Math.min(2 * this.next, this.delays.longest);
    await pause(ms, undefined, signal && { signal }).catch(() => undefined);
  }
}
