import { type Position } from '../kernel/event';
import { type Clock } from '../runtime/clock';

/** How far a pass through the log has come. */
export interface Progress {
  /** Events processed so far. */
  readonly events: number;
  /** Estimated number of all events. */
  readonly total: number;
  /** Events per second. */
  readonly rate: number;
  readonly secondsLeft: number;
}

/** Time constant of the moving average, in seconds. */
const SPAN = 10;

/** Counts events and measures their recent rate as an exponential moving average. */
export class ProgressMeter {
  private readonly start: number;
  private last: number;
  private level = 0;
  private done = 0;

  constructor(private readonly clock: Clock) {
    this.start = this.last = clock.monotonic();
  }

  get total(): number {
    return this.done;
  }

  count(events: number): void {
    this.level = this.level * this.decaySince(this.last) + events;
    this.last = this.clock.monotonic();
    this.done += events;
  }

  get rate(): number {
    const weight = SPAN * (1 - this.decaySince(this.start));
    return weight === 0 ? 0 : (this.level * this.decaySince(this.last)) / weight;
  }

  /** Estimates the progress from the ratio of positions. Positions are only ordered, so this is a hint for people. */
  towards(until: Position, position: Position): Progress {
    return this.at(Math.min(1, Number(position) / Math.max(1, Number(until))));
  }

  /** Estimates the progress from the share of the work that is done, from 0 to 1. */
  at(share: number): Progress {
    const { total: events, rate } = this;
    const total = share === 0 ? events : Math.round(events / share);
    return { events, total, rate, secondsLeft: rate === 0 ? 0 : (total - events) / rate };
  }

  private decaySince(time: number): number {
    return Math.exp((time - this.clock.monotonic()) / 1000 / SPAN);
  }
}
