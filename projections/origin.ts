import { START } from '../src/kernel/event';
import { type EventLog } from '../src/kernel/event-log';
import { type CollectionSpec, NoGeneration, type ReadStore } from '../src/kernel/read-store';
import { dropGenerations } from './generations';

/** The read models were folded from another log: what it says of positions would be taken for this one's. */
class OtherLog extends Error {
  override readonly name = 'OtherLog';
  constructor() {
    super(
      'READ_STORE holds read models of another log than EVENT_LOG: name the log they were made from, or make them anew by `affilog rebuild all --force`',
    );
  }
}

const COLLECTION: CollectionSpec = { name: 'origin', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };
const ID = 'log';

/** Of a log without events, which every log has begun as. */
const NONE = '';

/** Raises `OtherLog` when the read models are known to be of another log (`docs/decisions.md#x31`). */
export async function refuseOtherLog(log: EventLog, store: ReadStore): Promise<void> {
  const recorded = await recordedIn(store);
  if (recorded !== NONE && recorded !== (await originOf(log))) throw new OtherLog();
}

/**
 * Records whose read models the store holds, unless that is recorded already: false as long as the log has no events,
 * which tell it from others. Raises `OtherLog`.
 */
export async function claimStore(log: EventLog, store: ReadStore): Promise<boolean> {
  await refuseOtherLog(log, store);
  if ((await recordedIn(store)) !== NONE) return true;
  if ((await originOf(log)) === NONE) return false;
  await recordOrigin(log, store);
  return true;
}

/** Records that all read models are of this log from now on. */
export async function recordOrigin(log: EventLog, store: ReadStore): Promise<void> {
  const body = await originOf(log);
  const before = await store.generations(COLLECTION.name);
  const generation = await store.create(COLLECTION);
  await store.finish(generation);
  await store.swap(generation);
  // Once it is live: writes into one that is being filled wait for a failing server much longer than a leader may.
  await store.write(TARGET, [{ version: START, put: { id: ID, fields: {}, body } }]);
  await dropGenerations(store, before);
}

/** The first event, and where it is: a copy in another engine has the same events at other positions. */
async function originOf(log: EventLog): Promise<string> {
  for await (const { events } of log.readAll({ after: START, batchSize: 1 })) {
    const [first] = events;
    if (first !== undefined) return `${first.position} ${first.id}`;
  }
  return NONE;
}

async function recordedIn(store: ReadStore): Promise<string> {
  try {
    const [found] = await store.get(TARGET, [ID]);
    return found?.body ?? NONE;
  } catch (error) {
    if (error instanceof NoGeneration) return NONE;
    throw error;
  }
}
