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

/** How much of the log up to `until` comes before a position, from 0 to 1; estimated. */
export function shareOf(until: Position, position: Position): number {
  return Math.min(1, Number(position) / Math.max(1, Number(until)));
}

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
    return this.at(shareOf(until, position));
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

/** How long what follows takes, as a share of how long reading the whole log takes. */
export interface Pace {
  readonly index: number;
  readonly compare: number;
}

/** As measured with a million products (`npm run bench -- rebuild --count 1000000`). */
const USUAL_PACE: Pace = { index: 0.25, compare: 0.15 };

type Step = 'project' | 'index' | 'compare' | 'swap';

/**
 * Estimates when a rebuild ends: reading the log takes as long for the rest as for what was read, and the steps after it
 * as long as they did the last time, in proportion.
 */
export class RebuildEstimate {
  private readonly began = new Map<Step, number>();
  /** The share of the log that was read when this began, and is read now. */
  private first: number | undefined;
  private share = 0;

  /** `hasCompare`: whether there is something to compare with. */
  constructor(
    private readonly clock: Clock,
    private readonly pace: Pace = USUAL_PACE,
    private readonly hasCompare = true,
  ) {}

  enter(step: Step): void {
    if (!this.began.has(step)) this.began.set(step, this.clock.monotonic());
  }

  /** So much of the step that it is in is done, from 0 to 1. */
  reached(share: number): void {
    this.first ??= share;
    this.share = share;
  }

  get secondsLeft(): number {
    const whole = this.wholeMs;
    const compare = this.hasCompare ? whole * this.pace.compare : 0;
    const rest = (planned: number, step: Step): number => Math.max(0, planned - (this.since(step) ?? 0));
    if (this.began.has('swap')) return 0;
    if (this.began.has('compare')) return rest(compare, 'compare') / 1000;
    if (this.began.has('index')) return (rest(whole * this.pace.index, 'index') + compare) / 1000;
    return (whole * (1 - this.share + this.pace.index) + compare) / 1000;
  }

  /** How long each step took, once all are over. */
  get measured(): Pace | undefined {
    const [index, compare, swap] = (['index', 'compare', 'swap'] as const).map((step) =>
      this.began.get(step),
    );
    const whole = this.wholeMs;
    if (index === undefined || compare === undefined || swap === undefined || whole === 0) return undefined;
    return {
      index: (compare - index) / whole,
      compare: this.hasCompare ? (swap - compare) / whole : this.pace.compare,
    };
  }

  /** How long it takes to read the whole log (ms). */
  private get wholeMs(): number {
    const { first = 0, share } = this;
    const began = this.began.get('project');
    if (began === undefined || share <= first) return 0;
    const ended = this.began.get('index') ?? this.clock.monotonic();
    return (ended - began) / (share - first);
  }

  private since(step: Step): number | undefined {
    const began = this.began.get(step);
    return began === undefined ? undefined : this.clock.monotonic() - began;
  }
}
