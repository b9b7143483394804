import { Refusal } from '../kernel/fault';
import { type Position } from '../kernel/event';
import {
  type CollectionSpec,
  type Generation,
  type ReadStore,
  type Target,
  targetOf,
} from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { LeaseHolder, type LeaseKind } from '../runtime/lease-holder';
import { readNotes, readNotesOf, removeNote, type Standby, writeNote } from './notes';
import { forgetParked } from './parked';
import { DOMAIN_LOG, type Projection, type Source } from './projection';

/** Name of a generation: `products-g3`. */
export function nameOf({ collection, number }: Pick<Generation, 'collection' | 'number'>): string {
  return `${collection}-g${number}`;
}

/** The live generation, if it has the version that the code declares. */
export async function liveGeneration(
  store: ReadStore,
  spec: CollectionSpec,
): Promise<Generation | undefined> {
  const [live] = await liveGenerations(store, [{ collection: spec }]);
  return live;
}

/**
 * The live generation, and the log position up to which searches in it include everything. Searches keep using it if
 * another one becomes live meanwhile, since that one may be behind. Over Elasticsearch this costs three requests.
 */
export async function liveNow(
  store: ReadStore,
  spec: CollectionSpec,
): Promise<{ readonly target: Target; readonly position: Position }> {
  const live = await liveGeneration(store, spec);
  const target = live === undefined ? { collection: spec.name } : targetOf(live);
  const position = await store.checkpoint(target);
  await store.refresh(target, position);
  return { target, position };
}

/** The live generation of each, if it has the version that the code declares. */
export async function liveGenerations(
  store: ReadStore,
  projections: readonly { readonly collection: CollectionSpec }[],
): Promise<readonly (Generation | undefined)[]> {
  const generations = await store.generations(...projections.map(({ collection }) => collection.name));
  return projections.map(({ collection: { name, version } }) =>
    generations.find((one) => one.collection === name && one.state === 'live' && one.version === version),
  );
}

/**
 * `live` if each projection has a live generation; otherwise `building` if a generation that is missing is being built,
 * by any process, and else `missing`.
 */
export async function availabilityOf(
  store: ReadStore,
  projections: readonly { readonly collection: CollectionSpec }[],
): Promise<'live' | 'building' | 'missing'> {
  const live = await liveGenerations(store, projections);
  const missing = projections.filter((_, at) => live[at] === undefined);
  if (missing.length === 0) return 'live';
  const generations = await store.generations(...missing.map(({ collection }) => collection.name));
  return generations.some(({ state }) => state === 'building') ? 'building' : 'missing';
}

/**
 * Generations that may take the place of live ones: those that did so before and are kept, and those that are ready to.
 * Only those of the version that the code declares: it cannot project into others.
 */
export async function standbysOf(
  store: ReadStore,
  projections: readonly { readonly collection: CollectionSpec }[],
): Promise<readonly Generation[]> {
  const names = projections.map(({ collection }) => collection.name);
  const notesOf = await readNotesOf(store, ['kept', 'ready'], names);
  const [kept, ready] = [notesOf('kept'), notesOf('ready')];
  if (kept.size + ready.size === 0) return [];
  const versions = new Map(projections.map(({ collection }) => [collection.name, collection.version]));
  const generations = await store.generations(...new Set([...kept.keys(), ...ready.keys()]));
  const found = projections.flatMap(({ collection: { name } }) => {
    const own = generations.filter(({ collection }) => collection === name);
    return [...standbysAmong(own, 'kept', kept.get(name)), ...standbysAmong(own, 'ready', ready.get(name))];
  });
  return found.filter(({ collection, version }) => version === versions.get(collection));
}

/** The generations, of those of a read model, that a note is about: at most one, unless a swap was interrupted. */
export function standbysAmong(
  generations: readonly Generation[],
  kind: 'kept' | 'ready',
  note: Standby | undefined,
): readonly (Generation & { readonly until: string })[] {
  const state = { kept: 'retired', ready: 'building' }[kind];
  return [note, note?.former].flatMap((one) => {
    const found = generations.find(({ number }) => number === one?.generation);
    return one === undefined || found?.state !== state ? [] : { ...found, until: one.until };
  });
}

/** There is no generation that may become live, or it has parked documents, or the live one is paused. */
export class SwapRefused extends Refusal {}

/** Another process is rebuilding, or was killed a moment ago. */
export class RebuildUnderWay extends Refusal {}

export const TAKEN_OVER = 'another rebuild has taken over: wait for it to finish, then try again';

/** Who works under a lease. */
export interface LeaseParts {
  readonly clock: Clock;
  /** A name that no other process uses. */
  readonly owner: string;
  readonly signal?: AbortSignal;
}

export interface SwappingParts extends LeaseParts {
  readonly source: Source;
}

/** How often a lease is asked for that another process has (ms): a rebuild takes long, a swap does not. */
const POLL_MS = { rebuild: 200, swap: 5 } as const;

/**
 * Runs `work` under the lease of those who build generations, one at a time. Waits long enough for the lease of a
 * killed one to expire. Raises `RebuildUnderWay`.
 */
export async function whileBuilding<Result>(
  store: ReadStore,
  { name, ms }: LeaseKind,
  parts: LeaseParts,
  work: (lease: LeaseHolder) => Promise<Result>,
): Promise<Result> {
  const lease = new LeaseHolder(parts.clock, store, name, parts.owner, ms);
  if (!(await acquireWithin(lease, ms + POLL_MS.rebuild, POLL_MS.rebuild, parts.signal)))
    throw new RebuildUnderWay('another rebuild is under way: wait for it to finish, then try again');
  return await whileRenewed(lease, work);
}

/** Swaps are made one after the other, and none waits for a rebuild: that is one only at its end. */
export async function whileSwapping<Result>(
  store: ReadStore,
  { clock, owner, source, signal }: SwappingParts,
  work: () => Promise<Result>,
): Promise<Result> {
  const { name, ms } = source.rebuildLease;
  const lease = new LeaseHolder(clock, store, `swap after ${name}`, `${owner} swapping`, ms);
  if (!(await acquireWithin(lease, 2 * ms, POLL_MS.swap, signal)))
    throw new SwapRefused('another generation is being made live: try again');
  return await whileRenewed(lease, work);
}

/** Whether the lease was acquired before its time was up. */
async function acquireWithin(
  lease: LeaseHolder,
  waitMs: number,
  pollMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { clock } = lease;
  const deadline = clock.monotonic() + waitMs;
  while (!(await lease.acquire())) {
    if (clock.monotonic() > deadline) return false;
    await clock.pause(pollMs, signal);
  }
  return true;
}

/** Renews a lease during `work`, then releases it. */
async function whileRenewed<Result>(
  lease: LeaseHolder,
  work: (lease: LeaseHolder) => Promise<Result>,
): Promise<Result> {
  try {
    return await lease.renewDuring(() => work(lease));
  } finally {
    await lease.release();
  }
}

/**
 * Drops the generations beside the live one, and what an interrupted rebuild has left; returns their names. Raises
 * `RebuildUnderWay`.
 */
export async function discardBeside(
  store: ReadStore,
  collection: string,
  parts: SwappingParts,
): Promise<readonly string[]> {
  return await whileBuilding(store, parts.source.rebuildLease, parts, () =>
    whileSwapping(store, parts, async () => {
      const beside = (await store.generations(collection)).filter(({ state }) => state !== 'live');
      await dropGenerations(store, beside);
      await forgetBeside(store, collection);
      return beside.map(nameOf);
    }),
  );
}

/** Drops generations and their parked entries. */
export async function dropGenerations(store: ReadStore, generations: readonly Generation[]): Promise<void> {
  for (const generation of generations) {
    await forgetParked(store, nameOf(generation));
    await store.drop(generation);
  }
}

/** Removes the notes of what was beside the live generation of a read model. */
export async function forgetBeside(store: ReadStore, collection: string): Promise<void> {
  for (const kind of ['kept', 'ready', 'rebuild', 'failure'] as const)
    await removeNote(store, kind, collection);
}

const SWEEP_MS = 60_000;

/** How long an interrupted rebuild can be continued. */
const RESUMABLE_MS = 24 * 60 * 60 * 1000;

/**
 * Drops generations that are not kept any longer, and those that an interrupted rebuild has left unfinished, unless it
 * can be continued (`RESUMABLE_MS`), and lets the store free the space of dropped ones. Run by the projector. A
 * generation counts as abandoned when two consecutive sweeps, a minute apart, find it unfinished while nobody holds the
 * rebuild lease. One sweep is not enough: a healthy rebuild whose process was suspended has lost its lease until it
 * renews it. A generation that was replaced before there were notes of it stays until the next rebuild.
 */
export class Sweeper {
  private sweptAt = -Infinity;
  /** Names of the unfinished generations that the last sweep found while nobody held the lease. */
  private suspects: ReadonlySet<string> = new Set();

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly owner: string,
    private readonly source = DOMAIN_LOG,
  ) {}

  /** Sweeps, unless the last sweep was less than a minute ago. */
  async sweep(): Promise<void> {
    const now = this.clock.wall();
    // The absolute difference, since the clock may have been set back.
    if (Math.abs(now - this.sweptAt) < SWEEP_MS) return;
    this.sweptAt = now;
    const before = this.suspects;
    this.suspects = new Set();
    this.suspects = await this.findSuspects();
    if ([...this.suspects].some((name) => before.has(name))) await this.drop(before);
    await this.dropExpired(now);
    await this.store.sweep();
  }

  private async findSuspects(): Promise<ReadonlySet<string>> {
    // In this order: a generation created in between belongs to whoever holds the lease then.
    const building = await this.building();
    const { name, ms } = this.source.rebuildLease;
    const holder = await this.store.holder(name, this.clock.wall(), ms);
    return new Set(holder === undefined ? building.map(nameOf) : []);
  }

  /** Drops the named generations that are still unfinished, unless someone has taken the lease. */
  private async drop(names: ReadonlySet<string>): Promise<void> {
    const owner = `${this.owner} sweeping`;
    const { name, ms } = this.source.rebuildLease;
    const lease = new LeaseHolder(this.clock, this.store, name, owner, ms);
    if (!(await lease.acquire())) return;
    await whileRenewed(lease, async () => {
      const abandoned = (await this.building()).filter((generation) => names.has(nameOf(generation)));
      await dropGenerations(this.store, abandoned);
      for (const { collection } of abandoned) await removeNote(this.store, 'rebuild', collection);
    });
  }

  /** Drops what was kept, or has waited to be swapped in, for long enough. */
  private async dropExpired(now: number): Promise<void> {
    const isOver = ({ until }: Pick<Standby, 'until'>): boolean => Date.parse(until) <= now;
    const { clock, owner, source, store } = this;
    for (const kind of ['kept', 'ready'] as const)
      for (const [name, noted] of await readNotes(store, kind, this.names)) {
        if (![noted, noted.former ?? noted].some(isOver)) continue;
        await whileSwapping(store, { clock, owner, source }, async () => {
          // It may have been swapped in meanwhile, and another one kept.
          const note = (await readNotes(store, kind, [name])).get(name);
          const all = standbysAmong(await store.generations(name), kind, note);
          await dropGenerations(store, all.filter(isOver));
          const [left] = all.filter((one) => !isOver(one));
          if (left === undefined) await removeNote(store, kind, name);
          else await writeNote(store, kind, name, { generation: left.number, until: left.until });
        });
      }
  }

  /** Unfinished generations that nobody may continue. */
  private async building(): Promise<readonly Generation[]> {
    const all = await this.store.generations(...this.names);
    const building = all.filter(({ state }) => state === 'building');
    if (building.length === 0) return [];
    const ready = await readNotes(this.store, 'ready', this.names);
    const rebuilds = await readNotes(this.store, 'rebuild', this.names);
    const isOld = (at: string): boolean => Math.abs(this.clock.wall() - Date.parse(at)) > RESUMABLE_MS;
    return building.filter(({ collection, number }) => {
      const rebuild = rebuilds.get(collection);
      const isResumable = rebuild?.generation === number && !isOld(rebuild.at);
      return !isResumable && ready.get(collection)?.generation !== number;
    });
  }

  private get names(): readonly string[] {
    return this.projections.map(({ collection }) => collection.name);
  }
}
