/** How long the same failure is not logged again (ms). */
const INTERVAL_MS = 60_000;

/** Different failures that are remembered; more would not be the same failure over and over. */
const REMEMBERED = 100;

/** Finds failures that repeat, so that each is logged once a minute (`docs/decisions.md#x87`). */
export class RepeatedFailures {
  private readonly logged = new Map<string, { readonly at: number; repeated: number }>();

  /** `now` is a monotonic clock (ms). */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Counts a failure. Undefined if it is not to be logged, since it was logged within the last minute; otherwise how often
   * it has occurred since it was last logged.
   */
  count(failure: string): number | undefined {
    const at = this.now();
    const last = this.logged.get(failure);
    if (last !== undefined && at - last.at < INTERVAL_MS) {
      last.repeated += 1;
      return undefined;
    }
    if (this.logged.size >= REMEMBERED) this.logged.clear();
    this.logged.set(failure, { at, repeated: 0 });
    return last?.repeated ?? 0;
  }
}
