import { type Position, type RecordedEvent, START, positionOf, numberOf } from '../kernel/event';
import { offerId, productIn } from '../domain/products/offer';
import { type EventLog } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { pacer } from '../runtime/concurrency';
import { EVENTS, problemsOf } from './events/schemas';
import { timeOf, maskedReceivers, positionIn } from './log-events';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { IncomingEvent, type Projection } from '../projector/projection';
import { UsageError } from './command-error';
import { PROJECTED, projectionsNamed } from './rebuild';

interface EventCount {
  readonly name: string;
  events: number;
  /** Of data and meta. */
  bytes: number;
}

/** How much of what a log has, the most bytes first; days in order. */
export interface LogStats {
  readonly total: EventCount;
  readonly types: readonly EventCount[];
  readonly categories: readonly EventCount[];
  /** By the time in their data, in UTC; those without one are in no day. */
  readonly days: readonly EventCount[];
}

/** Names that are counted each for itself: other programs may write to the log. */
const MOST_NAMES = 1_000;
const OTHERS = '(others)';

class Counts {
  readonly byName = new Map<string, EventCount>();

  add(name: string, bytes: number): void {
    const known = this.byName.has(name) || this.byName.size < MOST_NAMES ? name : OTHERS;
    const count = this.byName.get(known) ?? { name: known, events: 0, bytes: 0 };
    this.byName.set(known, count);
    count.events += 1;
    count.bytes += bytes;
  }

  largest(): readonly EventCount[] {
    return [...this.byName.values()].sort((a, b) => b.bytes - a.bytes);
  }
}

/** The log has more events than may be read. */
export class TooManyEvents extends NamedError {
  constructor(most: number) {
    super(`the log has more than ${most} events`);
  }
}

interface InspectOptions {
  readonly signal?: AbortSignal;
  /** Raises `TooManyEvents` if the log has more events. */
  readonly most?: number;
}

/** Reads the whole log. */
export async function logStats(log: EventLog, options: InspectOptions = {}): Promise<LogStats> {
  const total: EventCount = { name: 'all', events: 0, bytes: 0 };
  const [types, categories] = [new Counts(), new Counts()];
  const days = new Map<string, EventCount>();
  for await (const event of eventsOf(log, options)) {
    const bytes = Buffer.byteLength(event.data) + Buffer.byteLength(event.meta);
    total.events += 1;
    total.bytes += bytes;
    types.add(event.type, bytes);
    categories.add(categoryOf(event), bytes);
    const day = timeOf(event)?.slice(0, 10);
    if (day === undefined) continue;
    const count = days.get(day) ?? { name: day, events: 0, bytes: 0 };
    days.set(day, { name: day, events: count.events + 1, bytes: count.bytes + bytes });
  }
  const inOrder = [...days.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { total, types: types.largest(), categories: categories.largest(), days: inOrder };
}

/** What its streams begin with: `claim-batch` of `claim-batch-7`. */
function categoryOf({ type, stream }: RecordedEvent): string {
  const beginnings = EVENTS.get(type)?.streams.map((name) => name.split('-<')[0] ?? '') ?? [];
  return beginnings.find((one) => stream.startsWith(one)) ?? stream.split('-')[0] ?? stream;
}

/** The same problem of events of a type, and the first of them. */
interface LogProblem {
  readonly type: string;
  readonly problem: string;
  events: number;
  readonly position: Position;
  readonly stream: string;
  readonly id: string;
}

export interface LogCheck {
  readonly events: number;
  readonly problems: readonly LogProblem[];
}

/**
 * Reads the whole log and checks that positions ascend, that streams have all revisions from 0, that ids are unique,
 * and that each event is as it is described (`docs/events.md`): so there is a sample of it, and code that folds it.
 * Needs some 100 bytes of memory for each stream and 16 for each event.
 */
export async function checkLog(log: EventLog, options: InspectOptions = {}): Promise<LogCheck> {
  const problems = new Map<string, LogProblem>();
  const note = ({ type, position, stream, id }: RecordedEvent, problem: string): void => {
    const key = JSON.stringify([type, problem]);
    const known = problems.get(key);
    if (known !== undefined) known.events += 1;
    else if (problems.size < MOST_NAMES)
      problems.set(key, { type, problem, events: 1, position, stream, id });
  };
  const revisions = new Revisions();
  const digests = new Digests();
  let events = 0;
  let last = START;
  for await (const event of eventsOf(log, options)) {
    events += 1;
    if (event.position <= last) note(event, 'position: expected a higher one than that of the event before');
    last = event.position;
    if (!revisions.isNext(event)) note(event, 'revision: expected the one after that of the event before');
    digests.add(digestOf(event.id));
    for (const problem of problemsOf(event)) note(event, problem);
  }
  for await (const event of repeatedIn(log, await digests.repeated(options), options))
    note(event, 'id: expected one that no other event has');
  return { events, problems: [...problems.values()] };
}

/** The last revisions of streams, by the ends of their names: maps are limited in size, and large ones grow slowly. */
class Revisions {
  private readonly byEnd = new Map<string, Map<string, number>>();

  isNext({ stream, revision }: RecordedEvent): boolean {
    const end = stream.slice(-3);
    const last = this.byEnd.get(end) ?? new Map<string, number>();
    this.byEnd.set(end, last);
    const isNext = revision === (last.get(stream) ?? -1) + 1;
    last.set(stream, revision);
    return isNext;
  }
}

/** 52 bits of an id. */
function digestOf(id: string): number {
  return parseInt(id.slice(0, 8), 16) * 2 ** 20 + parseInt(id.slice(-5), 16);
}

/** Digests of ids, in parts: to sort all of them at once would block the process for seconds. */
class Digests {
  private readonly parts = Array.from({ length: 4096 }, (): number[] => []);

  add(digest: number): void {
    // An id that is no UUID has no number.
    this.parts[digest % this.parts.length || 0]?.push(digest);
  }

  /** Those that were added more than once. */
  async repeated({ signal }: InspectOptions): Promise<ReadonlySet<number>> {
    const pace = pacer();
    const repeated = new Set<number>();
    for (const part of this.parts) {
      await pace();
      signal?.throwIfAborted();
      const sorted = Float64Array.from(part).sort();
      for (const [at, digest] of sorted.entries())
        if (at > 0 && Object.is(digest, sorted[at - 1])) repeated.add(digest);
    }
    return repeated;
  }
}

/** The events whose ids earlier ones have; the log is read again only if digests are equal. */
async function* repeatedIn(
  log: EventLog,
  suspected: ReadonlySet<number>,
  options: InspectOptions,
): AsyncGenerator<RecordedEvent> {
  if (suspected.size === 0) return;
  const seen = new Set<string>();
  for await (const event of eventsOf(log, options)) {
    if (!suspected.has(digestOf(event.id))) continue;
    if (seen.has(event.id)) yield event;
    seen.add(event.id);
  }
}

async function* eventsOf(
  log: EventLog,
  { signal, most = Infinity }: InspectOptions,
): AsyncGenerator<RecordedEvent> {
  const pace = pacer();
  let left = most;
  for await (const { events } of log.readAll({ after: START })) {
    signal?.throwIfAborted();
    for (const event of events) {
      if (left <= 0) throw new TooManyEvents(most);
      left -= 1;
      await pace();
      signal?.throwIfAborted();
      yield event;
    }
  }
}

/** A document of a live read model. */
export interface ShownDocument {
  readonly readModel: string;
  readonly id: string;
  /** Absent: there is none, or it was removed. */
  readonly document?: object;
}

/**
 * The documents that the event at a position is folded into, as they are now
 * (`docs/decisions.md#x132`). Raises `UsageError`.
 */
export async function documentsOfEvent(
  log: EventLog,
  store: ReadStore,
  sent: string,
): Promise<readonly ShownDocument[]> {
  const event = await eventAtPosition(log, positionIn('position', sent));
  if (event === undefined) throw new UsageError(`position=${sent}: expected the position of an event`);
  const found: ShownDocument[] = [];
  for (const projection of PROJECTED[0]?.projections ?? []) {
    const id = idIn(projection, event);
    if (id !== undefined) found.push(await documentIn(store, projection.collection.name, id));
  }
  return found;
}

/**
 * A document by the name of its read model and its id; one of a product also by `<feedId>-<sourceProductId>`, as
 * messages have it. Raises `UsageError`.
 */
export async function documentNamed(store: ReadStore, name: string, id: string): Promise<ShownDocument> {
  const [projection, ...others] = projectionsNamed(name);
  if (projection === undefined || others.length > 0)
    throw new UsageError(`readModel=${name.slice(0, 100)}: expected the name of one read model`);
  const { name: readModel } = projection.collection;
  const found = await documentIn(store, readModel, id);
  if (found.document !== undefined) return found;
  const product = productIn(id);
  if (product === undefined) return found;
  const ofProduct = await documentIn(store, readModel, offerId(product.feedId, product.sourceProductId));
  return ofProduct.document === undefined ? found : ofProduct;
}

export async function eventAtPosition(log: EventLog, position: Position): Promise<RecordedEvent | undefined> {
  const after = positionOf(Math.max(0, numberOf(position) - 1));
  for await (const { events } of log.readAll({ after, batchSize: 1 }))
    for (const event of events) return event.position === position ? event : undefined;
  return undefined;
}

/** Undefined if the read model does not have it, or cannot use it: another program may have written it. */
function idIn(projection: Projection, event: RecordedEvent): string | undefined {
  const { streams, handles } = projection;
  if (!handles.includes(event.type) || !streams.some((prefix) => event.stream.startsWith(prefix)))
    return undefined;
  try {
    return projection.idOf(new IncomingEvent(event).parse());
  } catch {
    return undefined;
  }
}

async function documentIn(store: ReadStore, readModel: string, id: string): Promise<ShownDocument> {
  const [found] = await store.get({ collection: readModel }, [id]).catch((error: unknown) => {
    if (error instanceof NoGeneration) return [];
    throw error;
  });
  if (found === undefined) return { readModel, id };
  return { readModel, id, document: JSON.parse(found.body, withoutSecrets) as object };
}

/** Addresses and bodies of receivers, as in histories. */
function withoutSecrets(name: string, value: unknown): unknown {
  return name === 'receivers' && Array.isArray(value) ? maskedReceivers(value as readonly object[]) : value;
}
