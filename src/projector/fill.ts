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

/** Called after each batch with the number of its events. May raise to stop the work. */
export type OnBatch = (events: number, position: Position) => Promise<void>;

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
        // Also of those that the batch does not concern: whoever is killed continues from the lowest checkpoint. Written
        // while the next one is folded.
        for (const projector of projectors) await projector.record();
        await onBatch(events.length, position);
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

/** A batch in parts of at most so many events, which is asked before each. */
function* partsOf(
  { events, position }: EventBatch,
  part: () => number,
): Generator<Pick<EventBatch, 'events' | 'position'>> {
  let at = 0;
  do {
    const some = events.slice(at, at + part());
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
/** How long it does not look again after the live read models have made no progress for `LONGEST.ms` (ms). */
const GIVEN_UP_MS = 30_000;
const SAMPLES = 100;
/** How long the work between two calls takes, about (ms). */
const PART_MS = 200;
/** How many events it has: at least, at first, and at most. */
const PART = { least: 50, first: 500, most: 100_000 } as const;

/**
 * Paces work beside live read models, so that these stay less than a second behind the log: waits while they are
 * further behind and getting nearer. Without a projector, and while they are paused or stopped, there is nothing to
 * wait for.
 */
export class Pacer {
  private heads: readonly { readonly position: Position; readonly at: number }[] = [];
  private nextAt = -Infinity;
  private live: Position = START;
  private size: number = PART.first;
  private resumedAt: number | undefined;
  private isFollowed: boolean;
  /** Since when the live read models are behind and make no progress. */
  private stillSince: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly source: Source,
  ) {
    this.isFollowed = projections.length > 0;
  }

  /** How many events to process until the next call of `pace`; all at once if nobody follows the log meanwhile. */
  get part(): number {
    return this.isFollowed ? this.size : Infinity;
  }

  /** Call it after each part of the work. */
  async pace(signal?: AbortSignal): Promise<void> {
    const { clock, resumedAt = clock.monotonic() } = this;
    const worked = clock.monotonic() - resumedAt;
    if (worked > PART_MS) this.size = Math.max(PART.least, Math.floor(this.size / 2));
    else if (worked < PART_MS / 2) this.size = Math.min(PART.most, 2 * this.size);
    await this.wait(Math.min(LONGEST.ms, LONGEST.ofWork * worked), signal);
    this.resumedAt = clock.monotonic();
  }

  private async wait(longest: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this;
    const began = clock.monotonic();
    if (began < this.nextAt || this.projections.length === 0) return;
    // Progress since the last look counts: this one may take longer than it may wait.
    const reached = this.live;
    let behind = await this.behindMs();
    while (behind > BEHIND_MS && clock.monotonic() - began < longest) {
      await clock.pause(WAIT_MS, signal);
      behind = await this.behindMs();
    }
    const isStill = behind > BEHIND_MS && this.live === reached;
    this.stillSince = isStill ? (this.stillSince ?? began) : undefined;
    const isStuck = clock.monotonic() - (this.stillSince ?? Infinity) >= LONGEST.ms;
    this.nextAt = clock.monotonic() + (isStuck ? GIVEN_UP_MS : LOOK_MS);
  }

  /** For how long the live read models have been behind the log, as far as it was observed. */
  private async behindMs(): Promise<number> {
    const { clock, store, source } = this;
    const { name, ms } = source.projectorLease;
    this.isFollowed = (await store.holder(name, clock.wall(), ms)) !== undefined;
    if (!this.isFollowed) return 0;
    const position = await this.log.head();
    const now = clock.monotonic();
    if (position > (this.heads.at(-1)?.position ?? START) && this.heads.length < SAMPLES)
      this.heads = [...this.heads, { position, at: now }];
    let live = position;
    for (const { collection } of await unpausedOf(store, this.projections)) {
      const checkpoint = await store.checkpoint({ collection: collection.name }).catch((error: unknown) => {
        if (error instanceof NoGeneration) return position;
        throw error;
      });
      if (checkpoint < live) live = checkpoint;
    }
    this.live = live;
    this.heads = this.heads.filter((one) => one.position > live);
    return this.heads[0] === undefined ? 0 : now - this.heads[0].at;
  }
}
