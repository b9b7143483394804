import { PROJECTIONS } from '../../projections/index';
import { liveGeneration, nameOf } from '../projector/generations';
import { countParked, keyOf, listParked, type Parked, retryParked } from '../projector/parked';
import { refuseOtherLog } from '../projector/origin';
import { skipping } from '../projector/skipped';
import { execute } from '../kernel/decider';
import { type ReadStore } from '../kernel/read-store';
import { type Engines } from '../engines/open';
import { projectionsNamed } from './projections-named';

/** What cannot be folded into a live read model, by projection. */
export interface ParkedIn {
  readonly projection: string;
  /** What operators call it: the document's id, or `<stream>@<position>` of an event that tells none. */
  readonly id: string;
  readonly entry: Parked;
}

/** Nothing of this name is parked there. */
class NotParked extends Error {
  override readonly name = 'NotParked';
}

/** What is parked did not fail at an event of its own. */
class NothingToSkip extends Error {
  override readonly name = 'NothingToSkip';
}

/** A reason that says nothing, or too much. */
class UnusableReason extends Error {
  override readonly name = 'UnusableReason';
}

const LONGEST_REASON = 1000;

/**
 * What is parked in the live read model of a projection, or in `all` of them, by projection and id. Raises
 * `UnknownProjection`.
 */
export async function parkedIn(store: ReadStore, projection: string): Promise<readonly ParkedIn[]> {
  const found: ParkedIn[] = [];
  for (const { collection } of projectionsNamed(projection)) {
    const live = await liveGeneration(store, collection);
    const entries = live === undefined ? [] : await listParked(store, nameOf(live));
    const named = entries.map((entry) => ({ projection: collection.name, id: keyOf(entry), entry }));
    found.push(...named.sort((a, b) => (a.id < b.id ? -1 : 1)));
  }
  return found;
}

/** How many documents are parked in all live read models. */
export async function parkedCount(store: ReadStore): Promise<number> {
  const live = await Promise.all(
    projectionsNamed('all').map(({ collection }) => liveGeneration(store, collection)),
  );
  return await countParked(
    store,
    live.flatMap((generation) => (generation === undefined ? [] : nameOf(generation))),
  );
}

/** The parked document of this id in one projection: others may have one of the same id. Raises `UnknownProjection`, `NotParked`. */
export async function parkedAs(store: ReadStore, projection: string, id: string): Promise<ParkedIn> {
  if (projection === 'all')
    throw new NotParked(`${id} is a document of one projection: name that in place of all`);
  const found = (await parkedIn(store, projection)).find((parked) => parked.id === id);
  if (found === undefined) throw new NotParked(`${id} is not parked in ${projection}`);
  return found;
}

/**
 * Has what is parked folded again by whoever projects it: one document, or all of a projection, or all there is.
 * Returns how many. Raises `UnknownProjection`, `NotParked`.
 */
export async function retry(store: ReadStore, projection: string, id?: string): Promise<number> {
  const parked =
    id === undefined ? await parkedIn(store, projection) : [await parkedAs(store, projection, id)];
  await retryParked(
    store,
    parked.map(({ entry }) => entry),
  );
  return parked.length;
}

/**
 * Leaves the event at which a document is parked out of its projection for ever, and has the document folded again
 * without it (`docs/decisions.md#x47`). Raises `UnknownProjection`, `NotParked`, `NothingToSkip`,
 * `UnusableReason`, `OtherLog`.
 */
export async function skip(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  { projection, id }: { readonly projection: string; readonly id: string },
  { reason, by, at }: { readonly reason: string; readonly by: string; readonly at: string },
): Promise<Parked> {
  if (reason.trim() === '' || reason.length > LONGEST_REASON)
    throw new UnusableReason(`--reason: a text of 1 to ${LONGEST_REASON} characters says why`);
  await refuseOtherLog(log, store, PROJECTIONS);
  const { projection: name, entry } = await parkedAs(store, projection, id);
  const { event, stream, document } = entry;
  if (event === undefined)
    throw new NothingToSkip(
      `${id} failed when the directory changed, at no event of its own: it can only be retried`,
    );
  const about = document === undefined ? { event, stream } : { event, stream, document };
  await execute(log, skipping, name, { ...about, reason, by, at });
  await retryParked(store, [entry]);
  return entry;
}
