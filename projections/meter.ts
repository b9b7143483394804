/** Seconds over which a rate is levelled. */
const SPAN = 10;

/** How much was done, and how fast of late. */
export class Meter {
  private readonly start: number;
  private last: number;
  private level = 0;
  private done = 0;

  /** `now` in ms. */
  constructor(private readonly now: () => number) {
    this.start = this.last = now();
  }

  get total(): number {
    return this.done;
  }

  count(events: number): void {
    this.level = this.level * this.decaySince(this.last) + events;
    this.last = this.now();
    this.done += events;
  }

  /** A second. */
  get rate(): number {
    const weight = SPAN * (1 - this.decaySince(this.start));
    return weight === 0 ? 0 : (this.level * this.decaySince(this.last)) / weight;
  }

  private decaySince(time: number): number {
    return Math.exp((time - this.now()) / 1000 / SPAN);
  }
}
