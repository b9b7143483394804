import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { pacer } from '../runtime/slices';
import { EVENTS, problemsOf } from './events/schemas';
import { timeOf } from './log-events';

interface Count {
  readonly name: string;
  events: number;
  /** Of data and meta. */
  bytes: number;
}

/** How much of what a log has, the most bytes first; days in order. */
export interface LogStats {
  readonly total: Count;
  readonly types: readonly Count[];
  readonly categories: readonly Count[];
  /** By the time in their data, in UTC; those without one are in no day. */
  readonly days: readonly Count[];
}

/** Names that are counted each for itself: other programs may write to the log. */
const MOST_NAMES = 1_000;
const OTHERS = '(others)';

class Counts {
  readonly byName = new Map<string, Count>();

  add(name: string, bytes: number): void {
    const known = this.byName.has(name) || this.byName.size < MOST_NAMES ? name : OTHERS;
    const count = this.byName.get(known) ?? { name: known, events: 0, bytes: 0 };
    this.byName.set(known, count);
    count.events += 1;
    count.bytes += bytes;
  }

  largest(): readonly Count[] {
    return [...this.byName.values()].sort((a, b) => b.bytes - a.bytes);
  }
}

/** Reads the whole log. */
export async function logStats(log: EventLog, signal?: AbortSignal): Promise<LogStats> {
  const total: Count = { name: 'all', events: 0, bytes: 0 };
  const [types, categories] = [new Counts(), new Counts()];
  const days = new Map<string, Count>();
  for await (const event of eventsOf(log, signal)) {
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
export async function checkLog(log: EventLog, signal?: AbortSignal): Promise<LogCheck> {
  const problems = new Map<string, LogProblem>();
  const note = ({ type, position, stream, id }: RecordedEvent, problem: string): void => {
    const key = JSON.stringify([type, problem]);
    const known = problems.get(key);
    if (known !== undefined) known.events += 1;
    else if (problems.size < MOST_NAMES)
      problems.set(key, { type, problem, events: 1, position, stream, id });
  };
  const revisions = new Map<string, number>();
  const ids: number[] = [];
  let last = START;
  for await (const event of eventsOf(log, signal)) {
    if (event.position <= last) note(event, 'position: expected a higher one than that of the event before');
    last = event.position;
    const expected = (revisions.get(event.stream) ?? -1) + 1;
    revisions.set(event.stream, event.revision);
    if (event.revision !== expected) note(event, 'revision: expected the one after that of the event before');
    ids.push(digestOf(event.id));
    for (const problem of problemsOf(event)) note(event, problem);
  }
  for await (const event of repeatedIn(log, ids, signal))
    note(event, 'id: expected one that no other event has');
  return { events: ids.length, problems: [...problems.values()] };
}

/** 52 bits of an id. */
function digestOf(id: string): number {
  return parseInt(id.slice(0, 8), 16) * 2 ** 20 + parseInt(id.slice(-5), 16);
}

/** The events whose ids earlier ones have; the log is read again only if digests are equal. */
async function* repeatedIn(
  log: EventLog,
  digests: readonly number[],
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordedEvent> {
  const sorted = Float64Array.from(digests).sort();
  const suspected = new Set(sorted.filter((digest, at) => Object.is(digest, sorted[at - 1])));
  if (suspected.size === 0) return;
  const seen = new Set<string>();
  for await (const event of eventsOf(log, signal)) {
    if (!suspected.has(digestOf(event.id))) continue;
    if (seen.has(event.id)) yield event;
    seen.add(event.id);
  }
}

async function* eventsOf(log: EventLog, signal: AbortSignal | undefined): AsyncGenerator<RecordedEvent> {
  const pace = pacer();
  for await (const { events } of log.readAll({ after: START })) {
    signal?.throwIfAborted();
    for (const event of events) {
      await pace();
      yield event;
    }
  }
}
