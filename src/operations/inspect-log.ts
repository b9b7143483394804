import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { pacer } from '../runtime/concurrency';
import { EVENTS, problemsOf } from './events/schemas';
import { timeOf } from './log-events';

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
