/** How long after a failure an action is retried (ms). */
const RETRY_MS = 60_000;

/** Actions that have failed: one that always fails is retried once a minute, and delays no others. */
export class Postponed {
  private readonly until = new Map<string, number>();

  /** `now`: a monotonic clock (ms). */
  constructor(private readonly now: () => number) {}

  add(automation: string, id: string): void {
    this.until.set(keyOf(automation, id), this.now() + RETRY_MS);
  }

  has(automation: string, id: string): boolean {
    const key = keyOf(automation, id);
    const until = this.until.get(key);
    if (until === undefined) return false;
    if (until > this.now()) return true;
    this.until.delete(key);
    return false;
  }
}

function keyOf(automation: string, id: string): string {
  return `${automation} ${id}`;
}
