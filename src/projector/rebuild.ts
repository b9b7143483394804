import { NamedError } from '../kernel/fault';
import { type Position } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { EVERYTHING, type Found } from '../kernel/query';
import { type Generation, NoGeneration, type ReadStore, type Target, targetOf } from '../kernel/read-store';
import { directoryAt } from '../network/directory';
import { type Clock } from '../runtime/clock';
import { LeaseHolder } from '../runtime/lease-holder';
import { isExpired } from './expiry';
import { flushAll, GenerationProjector } from './generation-projector';
import { dropGenerations, liveGeneration, nameOf } from './generations';
import { listParked, prepareParked } from './parked';
import { type Progress, ProgressMeter } from './progress-meter';
import { directoryPrefixes, DOMAIN_LOG, IncomingEvent, type Projection, type Source } from './projection';
import { ProjectionGroup } from './projection-group';

export interface RebuildParts {
  readonly clock: Clock;
  /** A name that no other process uses. */
  readonly owner: string;
  /** Identifies the running code. */
  readonly code: string;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Cancels the rebuild; the next one removes what has been built. */
  readonly signal?: AbortSignal;
  /** Swap in despite differences and parked documents. */
  readonly force?: boolean;
  /** The kind of the log; by default that of the domain. */
  readonly source?: Source;
  /** How long documents are kept whose projection says that they expire. */
  readonly keepMs?: number;
}

export interface RebuildProgress extends Progress {
  readonly phase: 'project' | 'index' | 'compare' | 'swap';
}

/** A generation that has become live. */
export interface Rebuilt {
  readonly generation: Generation;
  readonly documents: number;
  /** Absent when there was no live generation of the same version. */
  readonly comparison?: Comparison;
}

/** Another process is rebuilding, or was killed a moment ago. */
export class RebuildUnderWay extends NamedError {}

/** The new generation differs from the live one or has parked documents, so it was not swapped in. */
export class RebuildRefused extends NamedError {}

export const TAKEN_OVER = 'another rebuild has taken over: wait for it to finish, then try again';

const POLL_MS = 200;
/** Rounds of catching up with a log that is being written to. */
const MAX_CATCH_UPS = 10;

/**
 * Projects the whole log into new generations, compares them with the live ones and swaps them in. Readers and the
 * projector continue with the live generations meanwhile, and a failure before the swap does not affect them.
 * Unfinished generations are dropped by the next rebuild, or earlier by the `Sweeper`. The replaced generation is
 * retained until the next rebuild.
 */
export async function rebuild(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  parts: RebuildParts,
): Promise<readonly Rebuilt[]> {
  const { name, ms } = (parts.source ?? DOMAIN_LOG).rebuildLease;
  const lease = new LeaseHolder(parts.clock, store, name, parts.owner, ms);
  await acquireLease(lease, ms, parts.signal);
  try {
    await prepareParked(store);
    const rebuilding = new Rebuild(log, store, projections, parts, lease);
    return await lease.renewDuring(() => rebuilding.run());
  } catch (error) {
    // Another rebuild has taken the lease and dropped this one's generations.
    if (!(error instanceof NoGeneration) || (await lease.acquire())) throw error;
    throw new RebuildUnderWay(TAKEN_OVER, { cause: error });
  } finally {
    await lease.release();
  }
}

/** Waits long enough for the lease of a killed rebuild to expire. Raises `RebuildUnderWay`. */
export async function acquireLease(
  lease: LeaseHolder,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { clock } = lease;
  const deadline = clock.monotonic() + ms + POLL_MS;
  while (!(await lease.acquire())) {
    if (clock.monotonic() > deadline)
      throw new RebuildUnderWay('another rebuild is under way: wait for it to finish, then try again');
    await clock.pause(POLL_MS, signal);
  }
}

class Rebuild {
  private readonly meter: ProgressMeter;
  private phase: RebuildProgress['phase'] = 'project';
  private until: Position = '';

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly parts: RebuildParts,
    private readonly lease: LeaseHolder,
  ) {
    this.meter = new ProgressMeter(parts.clock);
  }

  async run(): Promise<readonly Rebuilt[]> {
    const { log, store, projections } = this;
    const live = await Promise.all(projections.map((projection) => this.prepare(projection)));
    const checkpoints = await Promise.all(
      live.flatMap((generation) => (generation === undefined ? [] : store.checkpoint(targetOf(generation)))),
    );
    this.until = checkpoints.reduce((a, b) => (a < b ? a : b), await log.head());
    const projectors = await buildGenerations(log, store, projections, {
      code: this.parts.code,
      until: this.until,
      onBatch: this.onBatch,
    });
    this.enter('index');
    for (const { generation } of projectors) await store.finish(generation);
    this.enter('compare');
    const comparisons: (Comparison | undefined)[] = [];
    for (const [at, projector] of projectors.entries()) {
      const generation = live[at];
      const keptSince = this.parts.clock.wall() - (this.parts.keepMs ?? Infinity);
      comparisons.push(
        generation && (await compareWithLive(this.parts.clock, log, store, generation, projector, keptSince)),
      );
    }
    this.refuseUnlessSound(projectors, comparisons);
    this.enter('swap');
    await this.catchUpWithHead(projectors);
    const rebuilt: Rebuilt[] = [];
    for (const [at, projector] of projectors.entries())
      rebuilt.push(await this.swap(projector, comparisons[at]));
    return rebuilt;
  }

  /** Drops what an interrupted rebuild has left. Returns the live generation to compare with, if there is one. */
  private async prepare({ collection }: Projection): Promise<Generation | undefined> {
    const generations = await this.store.generations(collection.name);
    await dropGenerations(
      this.store,
      generations.filter(({ state }) => state === 'building'),
    );
    return await liveGeneration(this.store, collection);
  }

  private refuseUnlessSound(
    projectors: readonly GenerationProjector[],
    comparisons: readonly (Comparison | undefined)[],
  ): void {
    if (this.parts.force === true) return;
    for (const [at, { generation, parked }] of projectors.entries()) {
      const name = nameOf(generation);
      const { differing, examples } = comparisons[at] ?? { differing: 0, examples: [] };
      if (differing > 0) {
        throw new RebuildRefused(
          `${differing} documents of ${name} differ from the live generation: ${examples.slice(0, 10).join(', ')}; ` +
            '--force swaps it in nevertheless',
        );
      }
      if (parked.size > 0)
        throw new RebuildRefused(
          `${parked.size} documents of ${name} could not be folded; --force swaps it in nevertheless`,
        );
    }
  }

  /** Catches up until the head no longer moves, or for a limited number of rounds. */
  private async catchUpWithHead(projectors: readonly GenerationProjector[]): Promise<void> {
    for (let round = 0, head = ''; round < MAX_CATCH_UPS && head !== (await this.log.head()); round += 1) {
      head = await this.log.head();
      for (const projector of projectors) await catchUp(this.log, projector, head, this.onBatch);
    }
  }

  private async swap(
    { generation }: GenerationProjector,
    comparison: Comparison | undefined,
  ): Promise<Rebuilt> {
    const { store } = this;
    await this.checkLease();
    await store.swap(generation);
    const retired = (await store.generations(generation.collection)).filter(
      ({ state }) => state === 'retired',
    );
    await dropGenerations(store, retired.slice(0, -1));
    await store.refresh(targetOf(generation));
    const documents = await store.count(targetOf(generation), EVERYTHING);
    return { generation: { ...generation, state: 'live' }, documents, ...(comparison && { comparison }) };
  }

  private readonly onBatch: OnBatch = async (events, position) => {
    this.meter.count(events);
    this.report(position);
    await this.checkLease();
  };

  private async checkLease(): Promise<void> {
    this.parts.signal?.throwIfAborted();
    if (!(await this.lease.acquire())) throw new RebuildUnderWay(TAKEN_OVER);
  }

  private enter(phase: RebuildProgress['phase']): void {
    this.phase = phase;
    this.report(this.until);
  }

  private report(position: Position): void {
    this.parts.onProgress?.({ phase: this.phase, ...this.meter.towards(this.until, position) });
  }
}

/** Result of comparing a rebuilt generation with the live one of the same version. */
interface Comparison {
  readonly differing: number;
  /** Ids of the first differing documents. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 100;
/** Differing documents that are checked again, since they may have changed during the comparison. */
const MAX_CANDIDATES = 100_000;
const MAX_ROUNDS = 100;
const ROUND_MS = 50;
const BATCH = 500;

/**
 * Compares every document of a rebuilt generation with the live one, which may be changing. Where they differ, the
 * rebuilt generation catches up until both are at the same position; what differs then is a real difference. Documents
 * that are parked in the live generation are ignored, and so are those from before `keptSince` (epoch ms) that expire.
 */
export async function compareWithLive(
  clock: Clock,
  log: EventLog,
  store: ReadStore,
  live: Generation,
  rebuilt: GenerationProjector,
  keptSince = -Infinity,
): Promise<Comparison> {
  const differ = (ours?: Found, theirs?: Found): boolean =>
    ours?.body !== theirs?.body &&
    ![ours, theirs].some((one) => one && isExpired(rebuilt.projection, one.body, keptSince));
  const liveTarget = targetOf(live);
  const rebuiltTarget = targetOf(rebuilt.generation);
  await catchUp(log, rebuilt, await store.checkpoint(liveTarget));
  const parked = new Set((await listParked(store, nameOf(live))).map(({ document }) => document));
  let candidates = (await differingIds(store, liveTarget, rebuiltTarget, differ)).filter(
    (id) => !parked.has(id),
  );
  for (
    let round = 0;
    candidates.length > 0 && candidates.length <= MAX_CANDIDATES && round < MAX_ROUNDS;
    round += 1
  ) {
    const position = await store.checkpoint(liveTarget);
    await catchUp(log, rebuilt, position);
    const differing: string[] = [];
    let hasLiveMoved = false;
    for (let at = 0; at < candidates.length; at += BATCH) {
      const ids = candidates.slice(at, at + BATCH);
      const [ours, theirs] = await Promise.all([
        byId(store, rebuiltTarget, ids),
        byId(store, liveTarget, ids),
      ]);
      differing.push(...ids.filter((id) => differ(ours.get(id), theirs.get(id))));
      hasLiveMoved ||= [...theirs.values()].some(({ version }) => version > position);
    }
    hasLiveMoved ||= (await store.checkpoint(liveTarget)) !== position;
    candidates = differing;
    if (!hasLiveMoved) break;
    await clock.pause(ROUND_MS);
  }
  return { differing: candidates.length, examples: candidates.slice(0, MAX_EXAMPLES) };
}

/** Ids of the documents that differ between two generations; stops at one more than can be checked again. */
async function differingIds(
  store: ReadStore,
  a: Target,
  b: Target,
  differ: (one?: Found, other?: Found) => boolean,
): Promise<string[]> {
  const differing: string[] = [];
  await Promise.all([store.refresh(a), store.refresh(b)]);
  const [left, right] = [new DocumentCursor(store, a), new DocumentCursor(store, b)];
  try {
    while (differing.length <= MAX_CANDIDATES) {
      const mine = left.current ?? (await left.nextPage());
      const theirs = right.current ?? (await right.nextPage());
      const first = firstOf(mine, theirs);
      if (first === undefined) break;
      const [one, other] = [mine, theirs].map((found) => (found?.id === first.id ? found : undefined));
      if (differ(one, other)) differing.push(first.id);
      if (mine?.id === first.id) left.advance();
      if (theirs?.id === first.id) right.advance();
    }
    return differing;
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

/** The document whose id comes first in scan order: by bytes, which is not how JavaScript compares strings. */
function firstOf(a: Found | undefined, b: Found | undefined): Found | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.id === b.id) return a;
  return Buffer.from(a.id).compare(Buffer.from(b.id)) < 0 ? a : b;
}

/** A cursor over the documents of a generation by id; only fetching the next page is asynchronous. */
class DocumentCursor {
  private readonly pages: AsyncIterator<readonly Found[]>;
  private page: readonly Found[] = [];
  private at = 0;

  constructor(store: ReadStore, target: Target) {
    this.pages = store.scan(target, EVERYTHING)[Symbol.asyncIterator]();
  }

  /** Undefined at the end of a page. */
  get current(): Found | undefined {
    return this.page[this.at];
  }

  advance(): void {
    this.at += 1;
  }

  /** Fetches the next page and returns its first document; undefined at the end. */
  async nextPage(): Promise<Found | undefined> {
    const page = await this.pages.next();
    this.page = page.done === true ? [] : page.value;
    this.at = 0;
    return this.current;
  }

  async close(): Promise<void> {
    await this.pages.return?.();
  }
}

async function byId(
  store: ReadStore,
  target: Target,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Found>> {
  return new Map((await store.get(target, ids)).map((found) => [found.id, found]));
}

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

/** Folds all events up to `until` into generations that are being built, in one pass from the lowest checkpoint. */
export async function fillGenerations(
  log: EventLog,
  projectors: readonly GenerationProjector[],
  {
    until,
    onBatch,
    batchSize = BUILD_BATCH,
  }: { readonly until: Position; readonly onBatch: OnBatch; readonly batchSize?: number },
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
      const { events, position } = cutAt(batch, until);
      const incoming = events.map((event) => new IncomingEvent(event));
      for (const projector of projectors)
        if (projector.checkpoint < position) await projector.apply(incoming, directory, position);
      await onBatch(events.length, position);
      if (position === until) break;
    }
    for (const projector of projectors) projector.advance(until);
  } finally {
    await flushAll(projectors);
  }
}

/** Applies the events that a generation lacks up to `until`, in the same way as the live generations are updated. */
async function catchUp(
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
      await onBatch(part.events.length, part.position);
      if (part.position === until) return;
    }
  } finally {
    await group.flush();
  }
}

function cutAt(batch: EventBatch, until: Position): EventBatch {
  if (batch.position <= until) return batch;
  return { ...batch, events: batch.events.filter(({ position }) => position <= until), position: until };
}
