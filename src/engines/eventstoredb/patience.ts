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

  /** The server has answered. */
  renew(): void {
    this.#since = undefined;
    this.#backoff.reset();
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
    await this.#backoff.wait(signal, left);
  }
}
