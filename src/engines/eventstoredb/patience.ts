import { setTimeout as after } from 'node:timers/promises';
import { isTransient, unavailable } from './trouble';

/** How long to wait before trying again: doubled with each failure, up to the longest (ms). */
const WAITS = { first: 50, longest: 2_000 } as const;

/** Bounds how long a server that fails is tried. */
export class Patience {
  #since: number | undefined;
  #wait: number = WAITS.first;

  /** `most`: for how long one failure may follow the other until it is given up (ms). */
  constructor(private readonly most: number) {}

  /** The server has answered. */
  renew(): void {
    this.#since = undefined;
    this.#wait = WAITS.first;
  }

  /**
   * Waits until it is worth trying again. Raises `EngineUnavailable` when that is of no use, or of none any more, and a
   * fault of our own code as it is.
   */
  async afterFailure(error: unknown, signal?: AbortSignal): Promise<void> {
    const now = performance.now();
    this.#since ??= now;
    const left = this.#since + this.most - now;
    if (!isTransient(error) || left <= 0) throw unavailable(error);
    // An aborted wait is over early, which is all it takes.
    await after(Math.min(this.#wait, left), undefined, signal && { signal }).catch(() => undefined);
    this.#wait = Math.min(2 * this.#wait, WAITS.longest);
  }
}
