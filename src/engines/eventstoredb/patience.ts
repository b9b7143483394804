import { Backoff } from '../../kernel/backoff';
import { isTransient, unavailable } from './trouble';

/** How long to wait before trying again (ms). */
const WAITS = { first: 50, longest: 2_000 } as const;

/** Bounds how long a server that fails is tried. */
export class Patience {
  #since: number | undefined;
  readonly #backoff = new Backoff(WAITS);

  /** `most`: for how long one failure may follow the other until it is given up (ms). */
  constructor(private readonly most: number) {}

  /** How much is left of it (ms), if a call began at `since` (ms, of `performance.now`). */
  leftSince(since: number): number {
    return (this.#since ?? since) + this.most - performance.now();
  }

  /** The server has answered. */
  renew(): void {
    this.#since = undefined;
    this.#backoff.reset();
  }

  /**
   * Waits until it is worth trying again. Raises `EngineUnavailable` when that is of no use, or of none any more, and a
   * fault of our own code as it is. `since`: when the call began that has failed (ms, of `performance.now`).
   */
  async afterFailure(error: unknown, since: number, signal?: AbortSignal): Promise<void> {
    this.#since ??= since;
    const left = this.leftSince(since);
    if (!isTransient(error) || left <= 0) throw unavailable(error);
    await this.#backoff.wait(signal, left);
  }
}
