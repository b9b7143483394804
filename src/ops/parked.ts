import { liveGeneration, nameOf } from '../projector/generations';
import { countParked, keyOf, listParked, type Parked, requestRetry } from '../projector/parked';
import { skipDecider } from '../projector/skipped-events';
import { execute } from '../kernel/decider';
import { type ReadStore } from '../kernel/read-store';
import { logOf, type ProjectedEngines, projectionsNamed } from './rebuild';

/** A parked document of a live read model. */
export interface ParkedIn {
  readonly projection: string;
  /** How operators refer to it: the document's id, or `<stream>@<position>` of an event that names none. */
  readonly id: string;
  readonly entry: Parked;
}

class NotParked extends Error {
  override readonly name = 'NotParked';
}

/** The document failed at a directory change, not at one of its own events. */
class NothingToSkip extends Error {
  override readonly name = 'NothingToSkip';
}

class UnusableReason extends Error {
  override readonly name = 'UnusableReason';
}

const MAX_REASON = 1000;

/**
 * The parked documents in the live read model of a projection, or of `all`, by projection and id. Raises
 * `UnknownProjection`.
 */
export async function parkedIn(store: ReadStore, projection: string): Promise<readonly ParkedIn[]> {
  const found: ParkedIn[] = [];
  for (const { collection } of projectionsNamed(projection)) {
    const live = await liveGeneration(store, collection);
    const entries = live === undefined ? [] : await listParked(store, nameOf(live));
    const listed = entries.map((entry) => ({ projection: collection.name, id: keyOf(entry), entry }));
    found.push(...listed.sort((a, b) => (a.id < b.id ? -1 : 1)));
  }
  return found;
}

/** Number of parked documents in all live read models. */
export async function parkedCount(store: ReadStore): Promise<number> {
  const live = await Promise.all(
    projectionsNamed('all').map(({ collection }) => liveGeneration(store, collection)),
  );
  return await countParked(
    store,
    live.flatMap((generation) => (generation === undefined ? [] : nameOf(generation))),
  );
}

/** The parked document with this id in one projection. Raises `UnknownProjection`, `NotParked`. */
export async function parkedById(store: ReadStore, projection: string, id: string): Promise<ParkedIn> {
  if (projection === 'all') throw new NotParked(`${id} needs the name of its projection in place of all`);
  const found = (await parkedIn(store, projection)).find((parked) => parked.id === id);
  if (found === undefined)
    throw new NotParked(`${id} is not parked in ${projection}: "affilog parked list" shows what is`);
  return found;
}

/**
 * Asks the projector to retry one parked document, or all of a projection or of `all`. Returns their number. Raises
 * `UnknownProjection`, `NotParked`.
 */
export async function retry(store: ReadStore, projection: string, id?: string): Promise<number> {
  const parked =
    id === undefined ? await parkedIn(store, projection) : [await parkedById(store, projection, id)];
  await requestRetry(
    store,
    parked.map(({ entry }) => entry),
  );
  return parked.length;
}

/**
 * Permanently excludes the event at which a document is parked from its projection, and requests a retry
 * (`docs/decisions.md#x47`). Raises `UnknownProjection`, `NotParked`, `NothingToSkip`, `UnusableReason`, `OtherLog`.
 */
export async function skip(
  engines: ProjectedEngines,
  { projection, id }: { readonly projection: string; readonly id: string },
  { reason, by, at }: { readonly reason: string; readonly by: string; readonly at: string },
): Promise<Parked> {
  if (reason.trim() === '' || reason.length > MAX_REASON)
    throw new UnusableReason(`--reason: expected a text of 1 to ${MAX_REASON} characters`);
  const { store } = engines;
  const log = await logOf(engines, projection);
  const { projection: name, entry } = await parkedById(store, projection, id);
  const { event, stream, document } = entry;
  if (event === undefined)
    throw new NothingToSkip(
      `${id} failed at a change of the directory, not at an event of its own: retry it instead`,
    );
  const failed = document === undefined ? { event, stream } : { event, stream, document };
  await execute(log, skipDecider, name, { ...failed, reason, by, at });
  await requestRetry(store, [entry]);
  return entry;
}
