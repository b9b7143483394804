/** Limits a rate: at most `burst` at once, and `perSecond` in the long run. Times are in ms. */
export class TokenBucket {
  private tokens: number;

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private at: number,
  ) {
    this.tokens = burst;
  }

  /** When the next one may be taken: now, or later. */
  next(now: number): number {
    this.fill(now);
    if (this.at > now) return this.at;
    return this.tokens >= 1 ? now : Math.ceil(now + ((1 - this.tokens) * 1000) / this.perSecond);
  }

  take(now: number): void {
    this.fill(now);
    this.tokens -= 1;
  }

  /** None may be taken before this time. */
  pause(until: number): void {
    this.at = Math.max(this.at, until);
  }

  private fill(now: number): void {
    if (now <= this.at) return;
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.at) * this.perSecond) / 1000);
    this.at = now;
  }
}
