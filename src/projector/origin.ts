import { Refusal } from '../kernel/fault';
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
import { DIRECTORY_PREFIXES } from '../network/events';
import { type Clock } from '../runtime/clock';
import { dropGenerations, forgetBeside, liveGeneration, liveGenerations } from './generations';
import { DOMAIN_LOG, type Projection, type Source } from './projection';

/** The read models were projected from another log, so their positions mean nothing in this one. */
class OtherLog extends Refusal {}

const OTHER =
  'READ_STORE contains read models of another log than EVENT_LOG: set EVENT_LOG to the log they were built from, or ' +
  'rebuild them with `affilog rebuild all --force`';
const OLDER =
  'READ_STORE contains read models of events that are missing from EVENT_LOG, as after restoring it from an older ' +
  'backup: rebuild them with `affilog rebuild all --force`';

const collectionOf = ({ origin }: Source): CollectionSpec => ({ name: origin, version: 1, fields: {} });
/** Ids of the two documents: the first event of the log, and a recently applied event. */
const FIRST = 'log';
const APPLIED = 'folded';

/** The origin of a log without events: it may become any log. */
const NONE = '';
/** The origin of a log whose first event expires. */
const EXPIRING = 'expiring';

/** An event that was applied. If the log does not have it, the log was replaced by an older copy of itself. */
type EventRef = Pick<RecordedEvent, 'stream' | 'revision' | 'id'>;

/** Raises `OtherLog` if the read models are known to belong to another log (`docs/decisions.md#x31`). */
export async function refuseOtherLog(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  source = DOMAIN_LOG,
): Promise<void> {
  const { first, applied } = await readRecord(store, source);
  if (first !== NONE && first !== (await originOf(log, projections, source))) throw new OtherLog(OTHER);
  // Read the checkpoints before the head: both may be advancing.
  const checkpoint = await highestCheckpoint(store, projections);
  if (checkpoint > (await log.head())) throw new OtherLog(OLDER);
  if (applied !== undefined && !(await hasEvent(log, applied, source))) throw new OtherLog(OLDER);
}

/** Whether `refuseOtherLog` raises `OtherLog`. */
export async function isOfOtherLog(...args: Parameters<typeof refuseOtherLog>): Promise<boolean> {
  try {
    await refuseOtherLog(...args);
    return false;
  } catch (error) {
    if (error instanceof OtherLog) return true;
    throw error;
  }
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
  source = DOMAIN_LOG,
): Promise<Generation | undefined> {
  // Read this before the check: a record that replaces it in the meantime has not been checked.
  const claim = await liveGeneration(store, collectionOf(source));
  await refuseOtherLog(log, store, projections, source);
  if ((await readRecord(store, source)).first !== NONE) return claim;
  if ((await originOf(log, projections, source)) === NONE) return undefined;
  return await recordOrigin(log, store, projections, source);
}

/**
 * Makes a store with read models of another log belong to this one. They are retired first: nobody reads them any more,
 * and they are built like missing ones. If that is interrupted, the next call repeats it.
 */
async function takeStore(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  source: Source,
): Promise<void> {
  const generations = await store.generations(...projections.map(({ collection }) => collection.name));
  for (const generation of generations) if (generation.state === 'live') await store.retire(generation);
  // Nobody may continue them, or swap them in.
  await dropGenerations(
    store,
    generations.filter(({ state }) => state !== 'live'),
  );
  for (const { collection } of projections) await forgetBeside(store, collection.name);
  await recordOrigin(log, store, projections, source);
}

/** Records that all read models belong to this log. */
export async function recordOrigin(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  source = DOMAIN_LOG,
): Promise<Generation> {
  const body = await originOf(log, projections, source);
  const before = await store.generations(source.origin);
  const generation = await store.create(collectionOf(source));
  await store.finish(generation);
  await store.swap(generation);
  // After the swap: writes to a generation under construction tolerate a failing server for longer than the lease
  // lasts.
  await store.write({ collection: source.origin }, [
    { version: START, put: { id: FIRST, fields: {}, body } },
  ]);
  await dropGenerations(store, before);
  return generation;
}

/**
 * Records a recently applied event in a claimed store; a log without it is an older copy. Does nothing if the claim
 * has been replaced.
 */
async function recordApplied(
  store: ReadStore,
  claim: Generation,
  { stream, revision, id, position }: RecordedEvent,
): Promise<void> {
  const event: EventRef = { stream, revision, id };
  const put = { id: APPLIED, fields: {}, body: JSON.stringify(event) };
  await ifLive(store.write(targetOf(claim), [{ version: position, put }]), undefined);
}

/** Id and position of our first event: a copy in another engine has the same events at other positions. */
async function originOf(
  log: EventLog,
  projections: readonly Projection[],
  { isExpiring }: Source,
): Promise<string> {
  if (isExpiring) return (await log.head()) === START ? NONE : EXPIRING;
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
  { origin }: Source,
): Promise<{ readonly first: string; readonly applied?: EventRef }> {
  const found = await ifLive<readonly Found[]>(store.get({ collection: origin }, [FIRST, APPLIED]), []);
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
  if (position === START) return undefined;
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

/** Whether the log has the event, or has had it: the last event of a stream does not expire. */
async function hasEvent(
  log: EventLog,
  { stream, revision: from, id }: EventRef,
  { isExpiring }: Source,
): Promise<boolean> {
  for await (const [event] of log.readStream(stream, { from, limit: 1 }))
    return event?.id === id || (isExpiring && event !== undefined && event.revision > from);
  return false;
}

/** What a projector records in the read store about the log that it projects. */
export class OriginRecord {
  /** The record that the store belongs to this log, once the log has events. */
  private claimed: Generation | undefined;
  private recorded: { readonly event: RecordedEvent; readonly at: number } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly source: Source,
  ) {}

  /**
   * Claims the store for this log. Raises `OtherLog`, unless read models of another log are replaced: then they are
   * retired, and `warn` receives a message.
   */
  async claim(warn: (message: string) => void): Promise<void> {
    const { log, store, projections, source } = this;
    this.recorded = undefined;
    try {
      this.claimed = await claimStore(log, store, projections, source);
    } catch (error) {
      if (!(error instanceof OtherLog) || source.replacesOther === undefined) throw error;
      await takeStore(log, store, projections, source);
      this.claimed = await claimStore(log, store, projections, source);
      warn(replaced(projections, source.replacesOther));
    }
  }

  /**
   * What is live of each projection. Claims the store if the log had no events before; undefined once the claim has
   * been replaced.
   */
  async live(): Promise<readonly (Generation | undefined)[] | undefined> {
    const { store, projections, source } = this;
    this.claimed ??= await claimStore(this.log, store, projections, source);
    const own = { collection: collectionOf(source) };
    const [claim, ...live] = await liveGenerations(store, [own, ...projections]);
    return this.claimed === undefined || claim?.number === this.claimed.number ? live : undefined;
  }

  /** Records the last applied event, which identifies an older log; at most once per `intervalMs`. */
  async record(applied: RecordedEvent | undefined, intervalMs: number): Promise<void> {
    const { claimed, recorded } = this;
    if (claimed === undefined || applied === undefined || applied === recorded?.event) return;
    const now = this.clock.monotonic();
    if (recorded !== undefined && now - recorded.at < intervalMs) return;
    await recordApplied(this.store, claimed, applied);
    this.recorded = { event: applied, at: now };
  }
}

function replaced(projections: readonly Projection[], where: string): string {
  const names = projections.map(({ collection }) => collection.name).join(', ');
  return (
    `the read models ${names} are of another log, which was removed or replaced (${where}): they are ` +
    'unavailable until they are built again from the present one'
  );
}
