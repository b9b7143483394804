import { type Position } from '../kernel/event';

/** How far a way through the log is. */
export interface Progress {
  /** Events so far. */
  readonly events: number;
  /** About how many there are. */
  readonly total: number;
  /** Events a second. */
  readonly rate: number;
  readonly secondsLeft: number;
}

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

  /** Positions are but ordered; as a hint to people, how far along they are is good enough. */
  towards(until: Position, position: Position): Progress {
    const { total: events, rate } = this;
    const share = Math.min(1, Number(position) / Math.max(1, Number(until)));
    const total = share === 0 ? events : Math.round(events / share);
    return { events, total, rate, secondsLeft: rate === 0 ? 0 : (total - events) / rate };
  }

  private decaySince(time: number): number {
    return Math.exp((time - this.now()) / 1000 / SPAN);
  }
}
