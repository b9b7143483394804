import { type Position, START } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { type ReadStore, NoGeneration } from '../kernel/read-store';
import { directoryAt } from '../network/directory';
import { flushAll, GenerationProjector } from './generation-projector';
import { directoryPrefixes, IncomingEvent, type Projection, type Source } from './projection';
import { ProjectionGroup } from './projection-group';
import { type Clock } from '../runtime/clock';
import { unpausedOf } from './wait';

/** Large batches: nobody reads the new generation yet, and a document that changes often is written less often. */
const BUILD_BATCH = 5000;

/**
 * Called after each batch with the number of its events. It may still be being written: `written` waits for that.
 * May raise to stop the work.
 */
export type OnBatch = (events: number, position: Position, written?: () => Promise<unknown>) => Promise<void>;

/**
 * Creates a new generation of each projection and folds all events up to `until` into them, in one pass. Documents
 * are described with the directory as of `until`, so earlier changes of the directory need no fan-out.
 */
export async function buildGenerations(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  { code, until, onBatch }: { readonly code: string; readonly until: Position; readonly onBatch: OnBatch },
): Promise<readonly GenerationProjector[]> {
  const projectors: GenerationProjector[] = [];
  for (const projection of projections) {
    const generation = await store.create(projection.collection);
    projectors.push(await GenerationProjector.open(log, store, projection, generation, code));
  }
  await fillGenerations(log, projectors, { until, onBatch });
  return projectors;
}

interface FillOptions {
  readonly until: Position;
  readonly onBatch: OnBatch;
  /** Events that are read at a time. */
  readonly batchSize?: number;
  /** How many of them are projected before `onBatch` is called; by default all. */
  readonly part?: () => number;
}

/** Folds all events up to `until` into generations that are being built, in one pass from the lowest checkpoint. */
export async function fillGenerations(
  log: EventLog,
  projectors: readonly GenerationProjector[],
  { until, onBatch, batchSize = BUILD_BATCH, part = () => Infinity }: FillOptions,
): Promise<void> {
  const projections = projectors.map(({ projection }) => projection);
  const directory = await directoryAt(log, until, directoryPrefixes(projections));
  const prefixes = [...new Set(projections.flatMap(({ streams }) => streams))];
  const after = projectors.reduce(
    (least, { checkpoint }) => (checkpoint < least ? checkpoint : least),
    until,
  );
  try {
    for await (const batch of after === until ? [] : log.readAll({ after, prefixes, batchSize })) {
      const whole = cutAt(batch, until);
      for (const { events, position } of partsOf(whole, part)) {
        const incoming = events.map((event) => new IncomingEvent(event));
        for (const projector of projectors)
          if (projector.checkpoint < position) await projector.apply(incoming, directory, position);
        // Also of those that the batch does not concern: whoever is killed continues from the lowest checkpoint.
        // Written while the next one is folded.
        for (const projector of projectors) await projector.record();
        await onBatch(events.length, position, () => flushAll(projectors));
      }
      if (whole.position === until) break;
    }
    for (const projector of projectors) projector.advance(until);
  } finally {
    await flushAll(projectors);
  }
}

/** Applies the events that a generation lacks up to `until`, in the same way as the live generations are updated. */
export async function catchUp(
  log: EventLog,
  projector: GenerationProjector,
  until: Position,
  onBatch: OnBatch = () => Promise.resolve(),
): Promise<void> {
  if (projector.checkpoint >= until) return;
  const group = await ProjectionGroup.open(log, [projector]);
  try {
    for await (const batch of log.readAll({ after: group.position, prefixes: group.prefixes })) {
      const part = cutAt(batch, until);
      await group.apply(part);
      await group.flush();
      await onBatch(part.events.length, part.position);
      if (part.position === until) return;
    }
  } finally {
    await group.flush();
  }
}

/** A batch in parts of about so many events, which is asked before each; none is a small rest. */
export function* partsOf(
  { events, position }: EventBatch,
  part: () => number,
): Generator<Pick<EventBatch, 'events' | 'position'>> {
  let at = 0;
  do {
    const wanted = part();
    const some = events.length - at < 1.5 * wanted ? events.slice(at) : events.slice(at, at + wanted);
    at += some.length;
    yield { events: some, position: at < events.length ? (some.at(-1)?.position ?? position) : position };
  } while (at < events.length);
}

function cutAt(batch: EventBatch, until: Position): EventBatch {
  if (batch.position <= until) return batch;
  return { ...batch, events: batch.events.filter(({ position }) => position <= until), position: until };
}

/** A rebuild waits while live read models are further behind than this (ms): less than a second. */
const BEHIND_MS = 400;
/** How often it looks (ms), and how long it waits between two looks. */
const LOOK_MS = 100;
const WAIT_MS = 50;
/** How long it waits at most before it makes some progress (ms), and in proportion to the work before. */
const LONGEST = { ms: 5_000, ofWork: 4 } as const;
/** For how long it is taken to be known how far they are behind without it (ms), and what more it adds to that. */
const WITHOUT = { ms: 30_000, more: 1.25 } as const;
const SAMPLES = 100;
/** How long the work between two calls takes (ms), about: without its requests, about so many one after the other. */
const PART_MS = { least: 25, first: 100, most: 200, requests: 4 } as const;
/** How much shorter it becomes at once, at most, when it has made them too late, and how much longer again when not. */
const LATE = { least: 1 / 2, longer: 1.15 } as const;
/** The share of the time of a part that is taken to be work, at least. */
const LEAST_WORK = 1 / 4;
/** How many events a part has: at least, at first, and at most. */
const PART = { least: 50, first: 100, most: 100_000 } as const;
/** How much smaller or larger a part should be than the one before, at most: it goes half the way. */
const CHANGE = { least: 1 / 4, most: 2 } as const;

interface PaceOptions {
  readonly signal?: AbortSignal | undefined;
  readonly written?: (() => Promise<unknown>) | undefined;
}

/**
 * Paces work beside live read models, so that these stay less than a second behind the log: waits while they are
 * further behind than they are without it. How far that is shows while it stands still, for 5 s at most in half a
 * minute. Without a projector, and while they are paused or make no progress at all, there is nothing to wait for. The
 * parts of the work become smaller as long as they leave live read models further behind than that.
 */
export class Pacer {
  private heads: readonly { readonly position: Position; readonly at: number }[] = [];
  private lookedAt: number;
  private nextAt = -Infinity;
  private live: Position = START;
  private size: number = PART.first;
  /** How long the work of a part is to take (ms): as long as live read models bear it. */
  private workMs: number = PART_MS.first;
  private resumedAt: number | undefined;
  private isFollowed: boolean;
  /** How long a request to the store takes (ms): a moving average. */
  private requestMs = 0;
  /** How far behind they may be (ms), until that is to be measured again. */
  private tolerated: { readonly ms: number; readonly until: number } = { ms: BEHIND_MS, until: -Infinity };

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly source: Source,
  ) {
    this.isFollowed = projections.length > 0;
    this.lookedAt = clock.monotonic();
  }

  /** How many events to process until the next call of `pace`; all at once if nobody follows the log meanwhile. */
  get part(): number {
    return this.isFollowed ? this.size : Infinity;
  }

  /**
   * Call it after each part of the work, with the number of its events; 0 is work of another kind. `written` waits for
   * what is still being written.
   */
  async pace(events: number, { signal, written = () => Promise.resolve() }: PaceOptions = {}): Promise<void> {
    const { clock, resumedAt = clock.monotonic() } = this;
    const worked = clock.monotonic() - resumedAt;
    await this.wait(worked, written, signal);
    if (events > 0 && worked > 0) this.resize(events, worked);
    this.resumedAt = clock.monotonic();
  }

  private resize(events: number, worked: number): void {
    const { size } = this;
    const work = Math.max(worked - PART_MS.requests * this.requestMs, LEAST_WORK * worked);
    const wanted = between(CHANGE.least * size, (events * this.workMs) / work, CHANGE.most * size);
    this.size = Math.floor(between(PART.least, (size + wanted) / 2, PART.most));
  }

  private async wait(worked: number, written: () => Promise<unknown>, signal?: AbortSignal): Promise<void> {
    const { clock, tolerated } = this;
    let began = clock.monotonic();
    if (began < this.nextAt || this.projections.length === 0) return;
    const isMeasured = began < tolerated.until;
    const most = isMeasured ? tolerated.ms : BEHIND_MS;
    const longest = isMeasured ? Math.min(LONGEST.ms, LONGEST.ofWork * worked) : LONGEST.ms;
    // Progress since the last look counts: this one may take longer than it may wait.
    const reached = this.live;
    let behind = await this.behindMs();
    let [waited, without, furthest] = [0, 0, behind];
    // What is appended while it stands still shows how far they are behind without it.
    if (behind > most && !isMeasured) {
      await written();
      began = clock.monotonic();
    }
    const isEnough = (): boolean => waited >= (isMeasured ? longest : Math.min(behind, longest));
    while (behind > most && !isEnough()) {
      await clock.pause(WAIT_MS, signal);
      behind = await this.behindMs();
      waited = clock.monotonic() - began;
      without = Math.max(without, Math.min(behind, waited));
      furthest = Math.max(furthest, behind);
    }
    const now = clock.monotonic();
    this.nextAt = now + LOOK_MS;
    if (!isMeasured && waited > 0) {
      const isStill = behind > most && this.live === reached;
      const ms = isStill ? Infinity : Math.max(BEHIND_MS, WITHOUT.more * without);
      this.tolerated = { ms, until: now + WITHOUT.ms };
    }
    const borne = Math.max(BEHIND_MS, this.tolerated.ms) / furthest;
    const change = borne < 1 ? Math.max(LATE.least, borne) : LATE.longer;
    // Not less than a request, or there would be little else.
    this.workMs = between(Math.max(PART_MS.least, this.requestMs), change * this.workMs, PART_MS.most);
  }

  /** For how long the live read models have been behind the log, as far as it was observed. */
  private async behindMs(): Promise<number> {
    const { clock, log, store, source, projections } = this;
    const { name, ms } = source.projectorLease;
    const began = clock.monotonic();
    const [holder, unpaused, head, checkpoints] = await Promise.all([
      store.holder(name, clock.wall(), ms),
      unpausedOf(store, projections),
      log.head(),
      Promise.all(projections.map(async ({ collection }) => await this.checkpointOf(collection.name))),
    ]);
    const now = clock.monotonic();
    this.requestMs += (now - began - this.requestMs) / 4;
    this.isFollowed = holder !== undefined;
    if (!this.isFollowed) return 0;
    // It was appended at some time since the last look.
    const at = (now + this.lookedAt) / 2;
    this.lookedAt = now;
    if (head > (this.heads.at(-1)?.position ?? START) && this.heads.length < SAMPLES)
      this.heads = [...this.heads, { position: head, at }];
    this.live = projections.reduce<Position>((least, projection, at) => {
      const checkpoint = unpaused.includes(projection) ? (checkpoints[at] ?? head) : head;
      return checkpoint < least ? checkpoint : least;
    }, head);
    this.heads = this.heads.filter(({ position }) => position > this.live);
    return this.heads[0] === undefined ? 0 : now - this.heads[0].at;
  }

  private async checkpointOf(collection: string): Promise<Position | undefined> {
    return await this.store.checkpoint({ collection }).catch((error: unknown) => {
      if (error instanceof NoGeneration) return undefined;
      throw error;
    });
  }
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
