import { DIRECTORY_PREFIXES } from '../directory/events';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Found } from '../kernel/query';
import { type CollectionSpec, type Generation, NoGeneration, type ReadStore } from '../kernel/read-store';
import { dropGenerations, liveGeneration, targetOf } from './generations';
import { type Projection } from './projection';

/** The read models were folded from another log: what it says of positions would be taken for this one's. */
class OtherLog extends Error {
  override readonly name = 'OtherLog';
}

const OTHER =
  'READ_STORE holds read models of another log than EVENT_LOG: name the log they were made from, or rebuild them with `affilog rebuild all --force`';
const OLDER =
  'READ_STORE holds read models of events that EVENT_LOG does not have, as when it was restored from an older backup: rebuild them with `affilog rebuild all --force`';

const COLLECTION: CollectionSpec = { name: 'origin', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };
/** The documents: the first event of the log, and a recently folded event. */
const FIRST = 'log';
const FOLDED = 'folded';

/** Of a log without events, which every log has begun as. */
const NONE = '';

/** An event that was folded; the log still has it, unless it was replaced by an older state of itself. */
type Mark = Pick<RecordedEvent, 'stream' | 'revision' | 'id'>;

/** Raises `OtherLog` when the read models are known to be of another log (`docs/decisions.md#x31`). */
export async function refuseOtherLog(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
): Promise<void> {
  const { first, folded } = await recordedIn(store);
  if (first !== NONE && first !== (await originOf(log, projections))) throw new OtherLog(OTHER);
  // The checkpoints before the head, which may be moving with them.
  const checkpoint = await lastCheckpoint(store, projections);
  if (checkpoint > (await log.head())) throw new OtherLog(OLDER);
  if (folded !== undefined && (await eventAt(log, folded.stream, folded.revision))?.id !== folded.id)
    throw new OtherLog(OLDER);
}

/**
 * Records whose read models the store holds, unless that is recorded already. Returns the generation of the record, which
 * a forced rebuild of everything replaces: undefined as long as the log has no events, which tell it from others. Raises
 * `OtherLog`.
 */
export async function claimStore(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
): Promise<Generation | undefined> {
  // Before it is checked: a record that replaces it meanwhile has not been checked.
  const claim = await liveGeneration(store, COLLECTION);
  await refuseOtherLog(log, store, projections);
  if ((await recordedIn(store)).first !== NONE) return claim;
  if ((await originOf(log, projections)) === NONE) return undefined;
  return await recordOrigin(log, store, projections);
}

/** False once the record was replaced: `claimStore` checks the new one. */
export async function isClaimLive(store: ReadStore, claim: Generation): Promise<boolean> {
  return (await liveGeneration(store, COLLECTION))?.number === claim.number;
}

/** Records that all read models are of this log from now on. */
export async function recordOrigin(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
): Promise<Generation> {
  const body = await originOf(log, projections);
  const before = await store.generations(COLLECTION.name);
  const generation = await store.create(COLLECTION);
  await store.finish(generation);
  await store.swap(generation);
  // Once it is live: writes into one that is being filled wait for a failing server much longer than a leader may.
  await store.write(TARGET, [{ version: START, put: { id: FIRST, fields: {}, body } }]);
  await dropGenerations(store, before);
  return generation;
}

/**
 * Records an event that was folded, in a store that is claimed: a log that lacks it one day is an older one. Does nothing
 * when the claim was replaced.
 */
export async function recordFolded(
  store: ReadStore,
  claim: Generation,
  { stream, revision, id, position }: RecordedEvent,
): Promise<void> {
  const mark: Mark = { stream, revision, id };
  const put = { id: FOLDED, fields: {}, body: JSON.stringify(mark) };
  await unlessMissing(store.write(targetOf(claim), [{ version: position, put }]), undefined);
}

/** The first event of ours, and where it is: a copy in another engine has the same events at other positions. */
async function originOf(log: EventLog, projections: readonly Projection[]): Promise<string> {
  // An EventStoreDB may hold streams of other programs, which may delete them.
  const prefixes = [...new Set([...DIRECTORY_PREFIXES, ...projections.flatMap(({ streams }) => streams)])];
  for await (const { events } of log.readAll({ after: START, prefixes, batchSize: 1 })) {
    const [first] = events;
    if (first !== undefined) return `${first.position} ${first.id}`;
  }
  return NONE;
}

async function recordedIn(store: ReadStore): Promise<{ readonly first: string; readonly folded?: Mark }> {
  const found = await unlessMissing<readonly Found[]>(store.get(TARGET, [FIRST, FOLDED]), []);
  const bodyOf = (wanted: string): string | undefined => found.find(({ id }) => id === wanted)?.body;
  const folded = bodyOf(FOLDED);
  return {
    first: bodyOf(FIRST) ?? NONE,
    ...(folded === undefined ? {} : { folded: JSON.parse(folded) as Mark }),
  };
}

/** How far the read model that is furthest has been folded. */
async function lastCheckpoint(store: ReadStore, projections: readonly Projection[]): Promise<Position> {
  const checkpoints = await Promise.all(
    projections.map(({ collection: { name } }) =>
      unlessMissing(store.checkpoint({ collection: name }), START),
    ),
  );
  return checkpoints.reduce((a, b) => (a > b ? a : b), START);
}

async function unlessMissing<Value>(found: Promise<Value>, otherwise: Value): Promise<Value> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof NoGeneration) return otherwise;
    throw error;
  }
}

/** Most events read in search of one: a log may be shared with applications that write more. */
const MOST_READ = 10_000;

/**
 * The last event up to a position in streams whose name begins with one of `prefixes`; undefined if there is none among
 * the last 10,000 of the log.
 */
export async function lastEventUpTo(
  log: EventLog,
  position: Position,
  prefixes: readonly string[],
): Promise<RecordedEvent | undefined> {
  let read = 0;
  for await (const events of log.readAllBackwards({ batchSize: 100 })) {
    const found = events.find(
      (event) => event.position <= position && prefixes.some((prefix) => event.stream.startsWith(prefix)),
    );
    read += events.length;
    if (found !== undefined || read >= MOST_READ) return found;
  }
  return undefined;
}

/** The event of this revision; undefined if there is none. */
async function eventAt(log: EventLog, stream: string, from: number): Promise<RecordedEvent | undefined> {
  for await (const [event] of log.readStream(stream, { from, limit: 1 })) return event;
  return undefined;
}
