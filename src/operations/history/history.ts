import { isDeepStrictEqual } from 'node:util';
import { numberOf, type Position, type RecordedEvent } from '../../kernel/event';
import { isObject } from '../../kernel/values';
import { asUpperBound, readDate } from '../../wire/date';
import { NothingThere, UsageError } from '../command-error';
import { positionIn, timeIn, timeOf } from '../log-events';
import { type FieldChanges, type Fold, type HistoryParts, type Shown, type HistoryStep } from './folder';
import { folderOf, type HistorySubject } from './subjects';

/**
 * What has happened to one thing, from its events: each with who caused it as far as it is recorded, the state after
 * it, and what it has changed (`docs/decisions.md#x109`). Secrets are left out, as of lines of the log.
 */

/** As they are sent. At most one of them is given. */
export interface HistoryPoints {
  readonly at?: string | undefined;
  readonly position?: string | undefined;
  readonly version?: number | undefined;
  /** With `limit`, a page: only entries after this version. */
  readonly after?: number | undefined;
  /** The number of entries of a page. */
  readonly limit?: number | undefined;
  /** Two points: each a version, a position such as `p1234` or of 19 digits, or a time. */
  readonly diff?: readonly string[] | undefined;
}

interface VersionPoint {
  /** Counted from 1. */
  readonly version: number;
  /** ISO 8601; a few events have none. */
  readonly time?: string;
  readonly position: Position;
}

export interface HistoryEntry extends VersionPoint {
  readonly event: string;
  readonly by: string;
  readonly stream: string;
  readonly revision: number;
  readonly changes: FieldChanges;
  /** Absent once it is removed. */
  readonly state?: Shown;
  /** Why the event could not be used: it changes nothing. */
  readonly problem?: string;
}

/** What differs between two points; a point before the first event is absent. */
export interface HistoryDifference {
  readonly from?: VersionPoint;
  readonly to?: VersionPoint;
  readonly changes: FieldChanges;
}

/** The history of a subject, or its state at a point, or what differs between two. Raises `UsageError`. */
export async function historyOf(
  parts: HistoryParts,
  subject: HistorySubject,
  points: HistoryPoints,
  signal?: AbortSignal,
): Promise<AsyncIterable<HistoryDifference | HistoryEntry> | Iterable<HistoryDifference | HistoryEntry>> {
  const wanted = pointsOf(points);
  const { title, events, fold } = await folderOf(parts, subject, signal);
  const entries = timeline(events, fold);
  if (wanted === undefined) {
    const first = await entries.next();
    if (first.done === true) throw new NothingThere(`${title}: there are no events of it`);
    return pageOf(continued(first.value.entry, entries), points);
  }
  if ('one' in wanted) {
    const { first, last } = await readUntil(entries, [wanted.one]);
    if (last[0] === undefined) throw nothingUntil(title, [wanted.one], first);
    return [{ ...last[0].entry, ...shownIn(last[0].whole) }];
  }
  const { first, last } = await readUntil(entries, wanted.both);
  const [from, to] = last;
  if (from === undefined && to === undefined) throw nothingUntil(title, wanted.both, first);
  return [
    {
      ...(from === undefined ? {} : { from: pointIn(from.entry) }),
      ...(to === undefined ? {} : { to: pointIn(to.entry) }),
      changes: changesBetween(from?.whole, to?.whole),
    },
  ];
}

function shownIn(state: Shown | undefined): { readonly state?: Shown } {
  return state === undefined ? {} : { state };
}

function pointIn({ version, time, position }: HistoryEntry): VersionPoint {
  return { version, ...(time === undefined ? {} : { time }), position };
}

/** Entries are folded from the first one on, whichever are wanted. */
async function* pageOf(
  entries: AsyncGenerator<HistoryEntry>,
  { after = 0, limit = Infinity }: HistoryPoints,
): AsyncGenerator<HistoryEntry> {
  let left = limit;
  for await (const entry of entries) {
    if (left <= 0) return;
    if (entry.version <= after) continue;
    left -= 1;
    yield entry;
  }
}

async function* continued(
  first: HistoryEntry,
  others: AsyncGenerator<Versioned>,
): AsyncGenerator<HistoryEntry> {
  yield first;
  for await (const { entry } of others) yield entry;
}

// Points --------------------------------------------------------------------------------------------------

interface Point {
  readonly sent: string;
  includes(entry: HistoryEntry): boolean;
}

function pointsOf({ at, position, version, diff = [] }: HistoryPoints) {
  const given = Object.entries({ at, position, version, diff: diff.length === 0 ? undefined : diff })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (given.length > 1) throw new UsageError(`${given.join(', ')}: expected at most one of them`);
  if (at !== undefined) return { one: timePoint('at', at) };
  if (position !== undefined) return { one: positionPoint('position', position) };
  if (version !== undefined) return { one: versionPoint('version', version) };
  if (diff.length === 0) return undefined;
  const [from, to] = diff;
  if (from === undefined || to === undefined || diff.length > 2)
    throw new UsageError(
      `diff=${diff.join(',')}: expected two points, each a version, a position such as p1234, or a time`,
    );
  return { both: [from, to].map(anyPoint) };
}

function anyPoint(sent: string): Point {
  if (/^\d{1,9}$/.test(sent)) return versionPoint('diff', Number(sent));
  const [, position] = /^(?:p(?=\d{1,19}$)|(?=\d{19}$))(\d+)$/.exec(sent) ?? [];
  return position === undefined ? timePoint('diff', sent) : positionPoint('diff', position);
}

/** A date includes its day. */
function timePoint(name: string, sent: string): Point {
  const until = timeIn(name, sent, asUpperBound(sent, readDate(sent)));
  return { sent, includes: ({ time }) => time !== undefined && Date.parse(time) <= until };
}

function positionPoint(name: string, sent: string): Point {
  const until = positionIn(name, sent);
  return { sent, includes: ({ position }) => position <= until };
}

function versionPoint(name: string, until: number): Point {
  if (!Number.isSafeInteger(until) || until < 1)
    throw new UsageError(`${name}=${until}: expected a version, counted from 1`);
  return { sent: `version ${until}`, includes: ({ version }) => version <= until };
}

/** The first entry, and for each point the last one up to it. */
async function readUntil(
  entries: AsyncIterable<Versioned>,
  points: readonly Point[],
): Promise<{ readonly first: Versioned | undefined; readonly last: readonly (Versioned | undefined)[] }> {
  const last: (Versioned | undefined)[] = points.map(() => undefined);
  let first: Versioned | undefined;
  for await (const one of entries) {
    first ??= one;
    for (const [at, point] of points.entries()) if (point.includes(one.entry)) last[at] = one;
  }
  return { first, last };
}

function nothingUntil(title: string, points: readonly Point[], first: Versioned | undefined): NothingThere {
  if (first === undefined) return new NothingThere(`${title}: there are no events of it`);
  const { time = 'an unknown time', position } = first.entry;
  const until = points.map(({ sent }) => sent).join(' and ');
  return new NothingThere(
    `${title}: it has no events up to ${until}: its first one is of ${time}, at position ${numberOf(position)}`,
  );
}

// Entries -------------------------------------------------------------------------------------------------

interface Versioned {
  readonly entry: HistoryEntry;
  /** The state with what a history leaves out. */
  readonly whole: Shown | undefined;
}

async function* timeline(
  events: AsyncIterable<readonly RecordedEvent[]>,
  fold: Fold,
): AsyncGenerator<Versioned, undefined> {
  let version = 0;
  let before: Shown | undefined;
  for await (const batch of events)
    for (const event of batch) {
      version += 1;
      const { by, state, rest, also, problem } = stepOf(fold, event, before);
      const time = timeOf(event);
      const entry = {
        version,
        ...(time === undefined ? {} : { time }),
        event: event.type,
        by,
        position: event.position,
        stream: event.stream,
        revision: event.revision,
        changes: { ...changesBetween(before, state), ...also },
        ...shownIn(state),
        ...(problem === undefined ? {} : { problem }),
      };
      yield {
        entry,
        get whole() {
          return state && { ...state, ...rest?.() };
        },
      };
      before = state;
    }
}

/** Another program may have written what no fold can use. */
function stepOf(
  fold: Fold,
  event: RecordedEvent,
  before: Shown | undefined,
): HistoryStep & { readonly problem?: string } {
  try {
    return fold(event);
  } catch (error) {
    return { by: 'unknown', state: before, problem: error instanceof Error ? error.message : String(error) };
  }
}

function changesBetween(before: Shown = {}, after: Shown = {}, path = ''): FieldChanges {
  const changes: Record<string, FieldChanges[string]> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name], after[name]];
    if (isDeepStrictEqual(was, is)) continue;
    if (isPlain(was) && isPlain(is)) Object.assign(changes, changesBetween(was, is, `${path}${name}.`));
    else
      changes[path + name] = {
        ...(was === undefined ? {} : { before: was }),
        ...(is === undefined ? {} : { after: is }),
      };
  }
  return changes;
}

function isPlain(value: unknown): value is Shown {
  return isObject(value) && !Array.isArray(value);
}

// Text ----------------------------------------------------------------------------------------------------

/** For people: a line for each event, and for each value that it has changed; the state if a point was asked for. */
export function* historyText(
  one: HistoryDifference | HistoryEntry,
  isPoint: boolean,
): Generator<string, undefined> {
  if (!('event' in one)) {
    yield `from ${pointText(one.from)} to ${pointText(one.to)}`;
    yield* changeLines(one.changes);
    return;
  }
  const { event, by, state, changes, problem } = one;
  yield `${pointText(one)}  ${event}  by ${by}`;
  if (problem !== undefined) yield `   unusable: ${problem}`;
  if (!isPoint) yield* changeLines(changes);
  else if (state === undefined) yield '   removed';
  else for (const [name, value] of Object.entries(state)) yield `   ${name}: ${JSON.stringify(value)}`;
}

function pointText(point: VersionPoint | undefined): string {
  if (point === undefined) return 'nothing';
  return `${point.version}  ${point.time ?? 'without time'}  position ${numberOf(point.position)}`;
}

function* changeLines(changes: FieldChanges): Generator<string> {
  for (const [name, { before, after }] of Object.entries(changes))
    yield before === undefined
      ? `   ${name}: ${JSON.stringify(after)}`
      : `   ${name}: ${JSON.stringify(before)} -> ${after === undefined ? 'none' : JSON.stringify(after)}`;
}
