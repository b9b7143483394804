import { DIRECTORY_PREFIXES } from '../directory/events';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Found } from '../kernel/query';
import {
  type CollectionSpec,
  type Generation,
  NoGeneration,
  type ReadStore,
  targetOf,
} from '../kernel/read-store';
import { dropGenerations, liveGeneration } from './generations';
import { type Projection } from './projection';

/** The read models were projected from another log, so their positions mean nothing in this one. */
class OtherLog extends Error {
  override readonly name = 'OtherLog';
}

const OTHER =
  'READ_STORE contains read models of another log than EVENT_LOG: set EVENT_LOG to the log they were built from, or rebuild them with `affilog rebuild all --force`';
const OLDER =
  'READ_STORE contains read models of events that are missing from EVENT_LOG, as after restoring it from an older backup: rebuild them with `affilog rebuild all --force`';

const COLLECTION: CollectionSpec = { name: 'origin', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };
/** Ids of the two documents: the first event of the log, and a recently applied event. */
const FIRST = 'log';
const APPLIED = 'folded';

/** The origin of a log without events: it may become any log. */
const NONE = '';

/** An event that was applied. If the log does not have it, the log was replaced by an older copy of itself. */
type EventRef = Pick<RecordedEvent, 'stream' | 'revision' | 'id'>;

/** Raises `OtherLog` if the read models are known to belong to another log (`docs/decisions.md#x31`). */
export async function refuseOtherLog(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
): Promise<void> {
  const { first, applied } = await readRecord(store);
  if (first !== NONE && first !== (await originOf(log, projections))) throw new OtherLog(OTHER);
  // Read the checkpoints before the head: both may be advancing.
  const checkpoint = await highestCheckpoint(store, projections);
  if (checkpoint > (await log.head())) throw new OtherLog(OLDER);
  if (applied !== undefined && (await eventAt(log, applied.stream, applied.revision))?.id !== applied.id)
    throw new OtherLog(OLDER);
}

/**
 * Records that the store belongs to this log, unless that is recorded already. Returns the generation of the record,
 * which a forced rebuild of everything replaces; undefined while the log has no events to identify it by. Raises
 * `OtherLog`.
 */
export async function claimStore(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
): Promise<Generation | undefined> {
  // Read this before the check: a record that replaces it in the meantime has not been checked.
  const claim = await liveGeneration(store, COLLECTION);
  await refuseOtherLog(log, store, projections);
  if ((await readRecord(store)).first !== NONE) return claim;
  if ((await originOf(log, projections)) === NONE) return undefined;
  return await recordOrigin(log, store, projections);
}

/** False once the record has been replaced; `claimStore` checks the new one. */
export async function isClaimLive(store: ReadStore, claim: Generation): Promise<boolean> {
  return (await liveGeneration(store, COLLECTION))?.number === claim.number;
}

/** Records that all read models belong to this log. */
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
  // After the swap: writes to a generation under construction tolerate a failing server for longer than the lease lasts.
  await store.write(TARGET, [{ version: START, put: { id: FIRST, fields: {}, body } }]);
  await dropGenerations(store, before);
  return generation;
}

/**
 * Records a recently applied event in a claimed store; a log without it is an older copy. Does nothing if the claim
 * has been replaced.
 */
export async function recordApplied(
  store: ReadStore,
  claim: Generation,
  { stream, revision, id, position }: RecordedEvent,
): Promise<void> {
  const event: EventRef = { stream, revision, id };
  const put = { id: APPLIED, fields: {}, body: JSON.stringify(event) };
  await ifLive(store.write(targetOf(claim), [{ version: position, put }]), undefined);
}

/** Id and position of our first event: a copy in another engine has the same events at other positions. */
async function originOf(log: EventLog, projections: readonly Projection[]): Promise<string> {
  // An EventStoreDB may contain streams of other programs, which may delete them.
  const prefixes = [...new Set([...DIRECTORY_PREFIXES, ...projections.flatMap(({ streams }) => streams)])];
  for await (const { events } of log.readAll({ after: START, prefixes, batchSize: 1 })) {
    const [first] = events;
    if (first !== undefined) return `${first.position} ${first.id}`;
  }
  return NONE;
}

async function readRecord(
  store: ReadStore,
): Promise<{ readonly first: string; readonly applied?: EventRef }> {
  const found = await ifLive<readonly Found[]>(store.get(TARGET, [FIRST, APPLIED]), []);
  const bodyOf = (document: string): string | undefined => found.find(({ id }) => id === document)?.body;
  const applied = bodyOf(APPLIED);
  return {
    first: bodyOf(FIRST) ?? NONE,
    ...(applied === undefined ? {} : { applied: JSON.parse(applied) as EventRef }),
  };
}

/** The highest checkpoint of all read models. */
async function highestCheckpoint(store: ReadStore, projections: readonly Projection[]): Promise<Position> {
  const checkpoints = await Promise.all(
    projections.map(({ collection: { name } }) => ifLive(store.checkpoint({ collection: name }), START)),
  );
  return checkpoints.reduce((a, b) => (a > b ? a : b), START);
}

async function ifLive<Value>(found: Promise<Value>, otherwise: Value): Promise<Value> {
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
