import { type Position } from '../kernel/event';
import { defined } from '../kernel/values';
import { type Clock } from '../runtime/clock';

/** How far a pass through the log has come. */
export interface Progress {
  /** Events processed so far. */
  readonly events: number;
  /** Estimated number of all events; 0 as long as none was found. */
  readonly total: number;
  /** Of the work that is done, from 0 to 1; estimated. */
  readonly share: number;
  /** Events per second. */
  readonly rate: number;
  readonly secondsLeft: number;
}

/** Time constant of the moving average, in seconds. */
const SPAN = 10;

/** A pass through the log, and how far it has come. */
export interface Stretch {
  readonly until: Position;
  position: Position;
}

/** How much of the log some passes have come past, from 0 to 1; estimated. */
export function shareOf(...passes: readonly Stretch[]): number {
  const sum = (name: keyof Stretch): number => passes.reduce((all, pass) => all + Number(pass[name]), 0);
  return Math.min(1, sum('position') / Math.max(1, sum('until')));
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
    return this.at(shareOf({ until, position }));
  }

  /** Estimates the progress from the share of the work that is done, from 0 to 1; `from`: that was done before. */
  at(share: number, from = 0): Progress {
    const { total: events, rate } = this;
    const done = from < 1 ? (share - from) / (1 - from) : 1;
    const total = done === 0 ? events : Math.round(events / done);
    // Without a rate: as long in proportion as until now.
    const sinceStart = (this.clock.monotonic() - this.start) / 1000;
    const secondsLeft = rate > 0 ? (total - events) / rate : done > 0 ? sinceStart * (1 / done - 1) : 0;
    return { events, total, share, rate, secondsLeft };
  }

  private decaySince(time: number): number {
    return Math.exp((time - this.clock.monotonic()) / 1000 / SPAN);
  }
}

/** How long the last rebuild took, as far as it is known: what follows as a share of reading the whole log. */
export interface Pace {
  /** Milliseconds for each position of the log. */
  readonly read?: number;
  readonly index?: number;
  readonly compare?: number;
}

/** In between of what was measured over both engines, for read models that were never built here. */
const USUAL_PACE = { index: 0.2, compare: 0.2 } as const;

/** What is expected of a pass for several read models, from what each has taken the last time. */
export function meanPace(paces: readonly Pace[]): Pace {
  const mean = (name: keyof Pace): number | undefined => {
    const known = paces.flatMap((pace) => pace[name] ?? []);
    return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) / known.length;
  };
  return defined({ read: mean('read'), index: mean('index'), compare: mean('compare') });
}

type Step = 'project' | 'index' | 'compare' | 'swap';

/**
 * What reading a log of less than this has taken (ms) is no measure of the rest, and of the steps behind
 * it: files are opened, too.
 */
const LEAST_MS = 3_000;
/** Below this share of a step its own rate is no estimate. */
const TELLING = 0.1;

/** What is so much slower than what follows, or than the last time, is a beginning: a store digests what was loaded. */
const SLOW = 2;
/** Of the log: before, it cannot be told apart from what just takes longer than the last time. */
const BEGINNING = 0.13;
/** A pace like that of the last time differs by less. */
const ALIKE = 1.2;
/** Moments at which it is noted how much was read: at most, and in a part of them that tells how fast it was. */
const MOMENTS = { most: 256, least: 16 } as const;

interface Progressed {
  readonly share: number;
  readonly at: number;
}

/**
 * Estimates when a rebuild ends. Reading the log, and comparing, take as long for the rest as for what is done, without
 * a slow beginning; what is to come takes as long as it did the last time, in proportion. So does the rest of the log,
 * if it is now read as fast as then, or as long as less than a tenth was read, if that was far slower.
 */
export class RebuildEstimate {
  private readonly began = new Map<Step, number>();
  /** From when the first part of this pass was read: what comes before is the start. */
  private moments: readonly Progressed[] = [];
  private resumed: number | undefined;
  private readonly shares = { project: 0, compare: 0 };

  /** `hasCompare`: whether there is something to compare with; `positions`: how many the log has. */
  constructor(
    private readonly clock: Clock,
    private readonly pace: Pace = {},
    private readonly hasCompare = true,
    private readonly positions = 1,
  ) {}

  enter(step: Step): void {
    if (!this.began.has(step)) this.began.set(step, this.clock.monotonic());
  }

  /** So much of a step is done, from 0 to 1. */
  reached(step: 'project' | 'compare', share: number): void {
    if (step === 'project' && this.resumed === undefined) this.resumed = share;
    else if (step === 'project' && share > Math.max(this.resumedAt, this.shares.project)) this.note(share);
    this.shares[step] = Math.max(share, this.shares[step]);
  }

  /** The share of the log that was read before, by what this continues. */
  get resumedAt(): number {
    return this.resumed ?? 0;
  }

  /** Undefined: that cannot be known yet. */
  get secondsLeft(): number | undefined {
    if (this.began.has('swap')) return 0;
    const whole = this.expectedMs;
    if (whole === undefined) return undefined;
    const compare = this.hasCompare ? whole * (this.pace.compare ?? USUAL_PACE.compare) : 0;
    if (this.began.has('compare')) return this.leftOfComparing(compare) / 1000;
    const index = whole * (this.pace.index ?? USUAL_PACE.index);
    if (this.began.has('index')) return (Math.max(0, index - this.since('index')) + compare) / 1000;
    return (whole * (1 - this.shares.project) + index + compare) / 1000;
  }

  /** How long each step took, once all are over; undefined if little was read: less than half of the log. */
  get measured(): Pace | undefined {
    const [index, compare, swap] = (['index', 'compare', 'swap'] as const).map((step) =>
      this.began.get(step),
    );
    const whole = this.wholeMs;
    if (index === undefined || compare === undefined || swap === undefined) return undefined;
    if (whole < LEAST_MS || this.resumedAt > 0.5) return undefined;
    return defined({
      read: whole / this.positions,
      index: (compare - index) / whole,
      compare: this.hasCompare ? (swap - compare) / whole : this.pace.compare,
    });
  }

  /** What is left of comparing, of which a whole was planned (ms). */
  private leftOfComparing(planned: number): number {
    const [done, share] = [this.since('compare'), this.shares.compare];
    return share < TELLING ? Math.max(0, planned - done) : (done / share) * (1 - share);
  }

  private note(share: number): void {
    const all = [...this.moments, { share, at: this.clock.monotonic() }];
    this.moments = all.length > MOMENTS.most ? all.filter((_, index) => index % 2 === 0) : all;
  }

  /**
   * How long reading the whole log is expected to take, at the pace of the rest (ms): as long as almost nothing
   * was read, as the last time.
   */
  private get expectedMs(): number | undefined {
    const { moments } = this;
    const last = (this.pace.read ?? Infinity) * this.positions;
    const isTelling = this.began.has('index') || this.since('project') >= LEAST_MS;
    if (!isTelling || this.shares.project <= this.resumedAt) return last < Infinity ? last : undefined;
    const [from, to] = [moments.at(-MOMENTS.least), moments.at(-1)];
    const recent = from === undefined || to === undefined ? Infinity : paceOf(from, to);
    const isAlike = Math.max(recent / last, last / recent) < ALIKE;
    const isBeginning = this.shares.project - this.resumedAt < BEGINNING;
    const mean = this.msSince(moments[0]);
    return (isBeginning && mean > SLOW * last) || (isAlike && mean > ALIKE * last) ? last : this.wholeMs;
  }

  /** How long it takes to read the whole log, at the pace of this pass (ms). */
  private get wholeMs(): number {
    return this.msSince(this.steady);
  }

  /** The same at the pace since a moment, or since it began. */
  private msSince(first: Progressed | undefined): number {
    const share = this.shares.project;
    const ended = this.began.get('index') ?? this.clock.monotonic();
    if (first !== undefined && share > first.share) return (ended - first.at) / (share - first.share);
    const began = this.began.get('project');
    return began === undefined || share <= this.resumedAt ? 0 : (ended - began) / (share - this.resumedAt);
  }

  /** From where on the pace is steady: behind each half of the moments that was far slower than the one after it. */
  private get steady(): Progressed | undefined {
    let { moments } = this;
    for (;;) {
      const later = moments.slice(Math.floor(moments.length / 2));
      const [from, middle, to] = [moments[0], later[0], later.at(-1)];
      if (from === undefined || middle === undefined || to === undefined) return from;
      if (later.length < MOMENTS.least || paceOf(from, middle) < SLOW * paceOf(middle, to)) return from;
      moments = later;
    }
  }

  private since(step: Step): number {
    return this.clock.monotonic() - (this.began.get(step) ?? this.clock.monotonic());
  }
}

/** Milliseconds for the whole, at the pace between two moments. */
function paceOf(from: Progressed, to: Progressed): number {
  return (to.at - from.at) / (to.share - from.share);
}
