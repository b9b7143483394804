import { NamedError } from '../kernel/fault';
import { type EventLog } from '../kernel/event-log';
import { type Generation, type ReadStore, targetOf } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { LeaseHolder } from '../runtime/lease-holder';
import { catchUp } from './fill';
import { GenerationProjector } from './generation-projector';
import { dropGenerations, nameOf } from './generations';
import { readNotes, removeNote, writeNote } from './notes';
import { countParked } from './parked';
import { type Projection, type Source } from './projection';

/** How long a generation that was replaced is kept, unless it is said otherwise. */
export const RETAIN_MS = 24 * 60 * 60 * 1000;

/** There is no generation that may become live, or it has parked documents. */
export class SwapRefused extends NamedError {}

export interface SwapParts {
  readonly clock: Clock;
  /** A name that no other process uses. */
  readonly owner: string;
  readonly code: string;
  readonly source: Source;
  /** How long the generation that is replaced is kept, and followed; 0: it is dropped. By default a day. */
  readonly retainMs?: number;
  readonly signal?: AbortSignal;
  /** Despite parked documents. */
  readonly force?: boolean;
}

/** What has changed. */
export interface Swapped {
  readonly collection: string;
  readonly generation: number;
  /** What was live, if anything was. */
  readonly replaced?: number;
}

/** How long a generation that is followed may take to have what the live one has (ms). */
const FOLLOWED_MS = 500;
const LOOK_MS = 5;
/** Rounds of catching up with a read model that is being written to. */
const MAX_ROUNDS = 10;

/**
 * Makes a generation live that is ready, or that was live before and is kept. It has all that the live one has then: both
 * are followed. The one that was live is kept in its place. Raises `SwapRefused`.
 */
export async function swapStandby(
  log: EventLog,
  store: ReadStore,
  projection: Projection,
  kind: 'ready' | 'kept',
  parts: SwapParts,
): Promise<Swapped> {
  const { name } = projection.collection;
  return await whileSwapping(store, parts, async () => {
    const generation = await standbyOf(store, projection, kind);
    const parked = await countParked(store, [nameOf(generation)]);
    if (parked > 0 && parts.force !== true)
      throw new SwapRefused(
        `${parked} documents of ${nameOf(generation)} could not be folded and are parked; --force makes it live nevertheless`,
      );
    await reachLive(log, store, projection, generation, parts);
    if (kind === 'ready') await removeNote(store, 'ready', name);
    return await makeLive(store, generation, parts);
  });
}

/**
 * Makes a finished generation live. The live one is kept, and what was kept before is dropped. To be called while swapping.
 */
export async function makeLive(
  store: ReadStore,
  generation: Generation,
  { clock, retainMs = RETAIN_MS }: Pick<SwapParts, 'clock' | 'retainMs'>,
): Promise<Swapped> {
  const { collection, number } = generation;
  const live = (await store.generations(collection)).find(({ state }) => state === 'live');
  if (live?.number === number) return { collection, generation: number };
  // Before the swap: without the note, a generation that was replaced is dropped by the next rebuild.
  if (live !== undefined && retainMs > 0)
    await writeNote(store, 'kept', collection, {
      generation: live.number,
      until: new Date(clock.wall() + retainMs).toISOString(),
    });
  await store.swap(generation);
  const kept = retainMs > 0 ? live?.number : undefined;
  const retired = (await store.generations(collection)).filter(({ state }) => state === 'retired');
  await dropGenerations(
    store,
    retired.filter((one) => one.number !== kept),
  );
  if (kept === undefined) await removeNote(store, 'kept', collection);
  return { collection, generation: number, ...(live === undefined ? {} : { replaced: live.number }) };
}

/** Swaps are made one after the other, and none waits for a rebuild: that is one only at its end. */
export async function whileSwapping<Result>(
  store: ReadStore,
  { clock, owner, source, signal }: Pick<SwapParts, 'clock' | 'owner' | 'source' | 'signal'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const { name, ms } = source.rebuildLease;
  const lease = new LeaseHolder(clock, store, `swap after ${name}`, `${owner} swapping`, ms);
  const deadline = clock.monotonic() + 2 * ms;
  while (!(await lease.acquire())) {
    if (clock.monotonic() > deadline)
      throw new SwapRefused('another generation is being made live: try again');
    await clock.pause(LOOK_MS, signal);
  }
  try {
    return await lease.renewDuring(work);
  } finally {
    await lease.release();
  }
}

async function standbyOf(
  store: ReadStore,
  { collection: { name, version } }: Projection,
  kind: 'ready' | 'kept',
): Promise<Generation> {
  const number = (await readNotes(store, kind, [name])).get(name)?.generation;
  const found = (await store.generations(name)).find((one) => one.number === number && one.state !== 'live');
  if (found === undefined)
    throw new SwapRefused(
      kind === 'kept'
        ? `${name} has no former generation that is kept: \`affilog projections\` lists what there is`
        : `${name} has no generation that is ready: \`affilog rebuild ${name} --no-swap\` builds one`,
    );
  if (found.version !== version)
    throw new SwapRefused(
      `generation ${found.number} of ${name} has version ${found.version}, which only the program of that time can read: ` +
        `this one has version ${version}`,
    );
  return found;
}

/** Until a generation has what the live one has. A projector follows it; if none does, or not in time, this does. */
async function reachLive(
  log: EventLog,
  store: ReadStore,
  projection: Projection,
  generation: Generation,
  { clock, code, signal }: SwapParts,
): Promise<void> {
  const all = await store.generations(generation.collection);
  const live = all.find(({ state }) => state === 'live');
  if (live === undefined) return;
  const deadline = clock.monotonic() + FOLLOWED_MS;
  const wanted = await store.checkpoint(targetOf(live));
  const reached = async (): Promise<boolean> => (await store.checkpoint(targetOf(generation))) >= wanted;
  while (clock.monotonic() < deadline) {
    if (await reached()) return;
    await clock.pause(LOOK_MS, signal);
  }
  const projector = await GenerationProjector.open(log, store, projection, generation, code);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const until = await store.checkpoint(targetOf(live));
    if (projector.checkpoint >= until) return;
    await catchUp(log, projector, until);
  }
}
