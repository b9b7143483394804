import { type EventLog } from '../kernel/event-log';
import { type Generation, type ReadStore, targetOf } from '../kernel/read-store';
import { catchUp } from './fill';
import { GenerationProjector } from './generation-projector';
import {
  dropGenerations,
  nameOf,
  standbysAmong,
  SwapRefused,
  type SwappingParts,
  whileSwapping,
} from './generations';
import { pausedText, readNotes, removeNote, writeNote } from './notes';
import { countParked } from './parked';
import { type Projection } from './projection';

/** How long a generation that was replaced is kept, unless it is said otherwise. */
const RETAIN_MS = 24 * 60 * 60 * 1000;

export interface SwapParts extends SwappingParts {
  readonly code: string;
  /** How long the generation that is replaced is kept, and followed; 0: it is dropped. By default a day. */
  readonly retainMs?: number;
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
const FOLLOWED_MS = 200;
const LOOK_MS = 5;
/** Rounds of catching up with a read model that is being written to. */
const MAX_ROUNDS = 10;

/**
 * Makes a generation live that is ready, or that was live before and is kept. It has all that the live one has then:
 * both are followed. The one that was live is kept in its place. Raises `SwapRefused`.
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
    await store.refresh(targetOf(generation));
    const swapped = await makeLive(store, generation, parts);
    if (kind === 'ready') await removeNote(store, 'ready', name);
    return swapped;
  });
}

/**
 * Makes a finished generation live. The live one is kept, and what was kept before is dropped. To be called while
 * swapping.
 */
export async function makeLive(
  store: ReadStore,
  generation: Generation,
  { clock, retainMs = RETAIN_MS }: Pick<SwapParts, 'clock' | 'retainMs'>,
): Promise<Swapped> {
  const { collection, number } = generation;
  const all = await store.generations(collection);
  const live = all.find(({ state }) => state === 'live');
  if (live?.number === number) return { collection, generation: number };
  const until = new Date(clock.wall() + retainMs).toISOString();
  const kept = live !== undefined && retainMs > 0 ? { generation: live.number, until } : undefined;
  // Before the swap: without the note, a generation that was replaced is dropped by the next rebuild. It names both:
  // the process may be killed before the swap.
  if (kept !== undefined) {
    const [former] = standbysAmong(
      all,
      'kept',
      (await readNotes(store, 'kept', [collection])).get(collection),
    );
    await writeNote(store, 'kept', collection, {
      ...kept,
      ...(former && { former: { generation: former.number, until: former.until } }),
    });
  }
  await store.swap(generation);
  const retired = (await store.generations(collection)).filter(({ state }) => state === 'retired');
  await dropGenerations(
    store,
    retired.filter((one) => one.number !== kept?.generation),
  );
  if (kept === undefined) await removeNote(store, 'kept', collection);
  else await writeNote(store, 'kept', collection, kept);
  return { collection, generation: number, ...(live === undefined ? {} : { replaced: live.number }) };
}

/** Retains a finished generation until somebody makes it live; the one that was ready before is dropped. */
export async function makeReady(
  store: ReadStore,
  { collection, number: generation }: Generation,
  { clock, retainMs = RETAIN_MS }: Pick<SwapParts, 'clock' | 'retainMs'>,
): Promise<void> {
  const before = (await readNotes(store, 'ready', [collection])).get(collection)?.generation;
  const until = new Date(clock.wall() + Math.max(retainMs, RETAIN_MS)).toISOString();
  await writeNote(store, 'ready', collection, { generation, until });
  const all = await store.generations(collection);
  await dropGenerations(
    store,
    all.filter(({ number, state }) => number === before && state !== 'live'),
  );
}

/**
 * What an operator has paused stays as it is: no rebuild swaps a generation in for it unasked. Raises `SwapRefused`.
 */
export async function refuseWhilePaused(
  store: ReadStore,
  live: readonly (Generation | undefined)[],
): Promise<void> {
  const names = live.flatMap((one) => (one === undefined ? [] : one.collection));
  for (const [name, paused] of await readNotes(store, 'paused', names))
    throw new SwapRefused(
      `${name} is paused ${pausedText(paused)}, and a swap would change what it shows: \`affilog projections resume ${name}\` ` +
        'continues it, --no-swap leaves the new generation ready, and --force swaps it in: then it stays paused with what it ' +
        'has by then',
    );
}

async function standbyOf(
  store: ReadStore,
  { collection: { name, version } }: Projection,
  kind: 'ready' | 'kept',
): Promise<Generation> {
  const note = (await readNotes(store, kind, [name])).get(name);
  const [found] = standbysAmong(await store.generations(name), kind, note);
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
