import { positionOf, type RecordedEvent } from '../../../kernel/event';
import { APPEND_LIMITS, DamagedLog } from '../../../kernel/event-log';
import { SqliteConnection, iterate, type DatabaseSession } from '../connection';
import { eventsOfAppends, expiredUpTo, HEAD, type LogKind, openToRead, REVISION, SUBJECTS } from './schema';

/** Target size of a batch; exceeded by less than one append. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Maximum positions scanned per batch, so that a search for sparse events does not block the thread. */
const WINDOW = 50_000;

/** Events in log order, complete up to the position `upTo`. */
interface LogSlice {
  readonly events: readonly RecordedEvent[];
  readonly upTo: number;
}

/** Events of a stream. `isLast`: there are no more. */
interface StreamSlice {
  readonly events: readonly RecordedEvent[];
  readonly isLast: boolean;
}

type EventRow = readonly [number, string, number, string, string, string, string];

const EVENT = `e.position, a.stream, ${REVISION}, e.id, e.type, e.data, e.meta`;
const HAS_STREAM = 'SELECT 1 FROM appends WHERE stream = ? LIMIT 1';
const BOUNDARY = 'SELECT max(position) FROM appends WHERE position <= ?';

/**
 * Reads the log's file. Positions are row ids here. No transaction stays open between calls, so a slow consumer does
 * not block checkpoints of the WAL. Missing events raise `DamagedLog`, so that a damaged log is not mistaken for a
 * shorter one.
 */
export class LogReader {
  readonly #connection: SqliteConnection;

  constructor(
    file: string,
    private readonly kind: LogKind = 'events',
  ) {
    this.#connection = new SqliteConnection(SUBJECTS[kind], () => openToRead(file));
  }

  /** The last position, 0 in an empty log. */
  head(): number {
    return this.#connection.use(({ prepared }) => (prepared(HEAD).get() as [number])[0]);
  }

  /** The first `most` events after a position, up to `end`, which must be a head; of streams with these prefixes. */
  after(after: number, end: number, prefixes: readonly string[] | undefined, most: number): LogSlice {
    if (after >= end) return { events: [], upTo: after };
    const streams = prefixes ?? [];
    const inStreams = prefixes === undefined ? 'TRUE' : anyPrefix(prefixes.length);
    return this.#inTransaction((session, expired) => {
      const { prepared } = session;
      const upTo = end <= after + WINDOW ? end : Math.min(end, boundary(session, after, expired));
      const planned = prepared(
        `SELECT min(a.events, a.position - ?1), a.bytes, max(a.position - a.events, ?1) + 1 FROM appends a
         WHERE a.position > ?1 AND a.position <= ?2 AND ${inStreams} ORDER BY a.position LIMIT ?3`,
      ).all(after, upTo, most, ...streams) as PlannedRead[];
      const { count, isWhole } = fitBatch(planned, most);
      const rows =
        count === 0
          ? []
          : (prepared(
              `SELECT ${EVENT} FROM ${eventsOfAppends({ after: '?1' })}
               WHERE a.position > ?1 AND a.position <= ?2 AND ${inStreams}
               ORDER BY a.position, e.position LIMIT ?3`,
            ).all(after, upTo, count, ...streams) as EventRow[]);
      refuseMissing(rows, planned, count, 1);
      const seen = isWhole ? upTo : (rows.at(-1)?.[0] ?? upTo);
      if (seen > expired) refuseGaps(session, Math.max(after, expired), seen, APPEND_LIMITS.events);
      return { events: rows.map(toEvent), upTo: seen };
    });
  }

  /** The last `most` events before a position, newest first. */
  before(before: number, most: number): readonly RecordedEvent[] {
    return this.#inTransaction(({ prepared }, expired) => {
      const planned = prepared(
        `SELECT min(a.events, ?1 - 1 - a.position + a.events), a.bytes, min(a.position, ?1 - 1) FROM appends a
         WHERE ${APPENDS_BEFORE} ORDER BY a.position DESC LIMIT ?2`,
      ).all(before, most) as PlannedRead[];
      const { count, isWhole } = fitBatch(planned, most);
      const rows = prepared(
        `SELECT ${EVENT} FROM ${eventsOfAppends({ upTo: '?1 - 1' })} WHERE ${APPENDS_BEFORE}
         ORDER BY a.position DESC, e.position DESC LIMIT ?2`,
      ).all(before, count) as EventRow[];
      refuseMissing(rows, planned, count, -1);
      const last = Math.min(before - 1, (prepared(HEAD).get() as [number])[0]);
      refuseSkipped(
        rows.map(([position]) => position).filter((position) => position > expired),
        { first: last, step: -1, last: isWhole ? expired + 1 : undefined },
        'position',
      );
      return rows.map(toEvent);
    });
  }

  /** The first `most` events of a stream from a revision, forwards or backwards. */
  ofStream(stream: string, from: number, backwards: boolean, most: number): StreamSlice {
    const { append, events, left, first, order, step } = backwards ? BACKWARDS : FORWARDS;
    // Commands often ask for a stream that does not exist yet: one statement in place of a transaction.
    if (!this.#has(stream)) return { events: [], isLast: true };
    return this.#inTransaction(({ prepared }, expired) => {
      const planned = prepared(
        `SELECT min(a.events, ${left}), a.bytes, ${first} FROM appends a
         WHERE a.stream = ?1 AND ${append} ORDER BY a.revision ${order} LIMIT ?3`,
      ).all(stream, from, most) as PlannedRead[];
      const { count, isWhole } = fitBatch(planned, most);
      if (count === 0) return { events: [], isLast: isWhole };
      const rows = prepared(
        `SELECT ${EVENT} FROM ${events} WHERE a.stream = ?1 AND ${append}
         ORDER BY a.revision ${order}, e.position ${order} LIMIT ?3`,
      ).all(stream, from, count) as EventRow[];
      refuseMissing(rows, planned, count, step);
      refuseSkipped(
        rows.map(([, , revision]) => revision),
        expired > 0
          ? { first: undefined, step, last: undefined }
          : { first: backwards ? undefined : from, step, last: backwards && isWhole ? 0 : undefined },
        `${stream} revision`,
      );
      return { events: rows.map(toEvent), isLast: isWhole };
    });
  }

  close(): void {
    this.#connection.close();
  }

  #has(stream: string): boolean {
    return this.#connection.use(({ prepared }) => prepared(HAS_STREAM).get(stream) !== undefined);
  }

  /**
   * Reads from one snapshot: an append between two statements would look like damage. `expired`: up to this position,
   * missing events are not damage.
   */
  #inTransaction<T>(read: (session: DatabaseSession, expired: number) => T): T {
    return this.#connection.use((session) => {
      session.prepared('BEGIN').run();
      const result = read(session, this.kind === 'deliveries' ? expiredUpTo(session) : 0);
      session.prepared('COMMIT').run();
      return result;
    });
  }
}

/** SQL for reading from revision `?2` forwards: which appends and events to read, and at most how many of an append. */
const FORWARDS = {
  append: 'a.revision >= ?2',
  events: eventsOfAppends({ after: 'a.position - a.revision + ?2 - 1' }),
  left: 'a.revision - ?2 + 1',
  first: 'max(a.position - a.events, a.position - a.revision + ?2 - 1) + 1',
  order: 'ASC',
  step: 1,
} as const;

/** The same backwards. The append that contains `?2` ends less than the maximum length of an append after it. */
const BACKWARDS = {
  append: `a.revision < ?2 + ${APPEND_LIMITS.events} AND a.revision - a.events < ?2`,
  events: eventsOfAppends({ upTo: 'a.position - a.revision + ?2' }),
  left: '?2 - a.revision + a.events',
  first: 'min(a.position, a.position - a.revision + ?2)',
  order: 'DESC',
  step: -1,
} as const;

/** Appends with events before position `?1`. The append that contains it ends less than the maximum length after it. */
const APPENDS_BEFORE = `a.position < ?1 + ${APPEND_LIMITS.events} AND a.position - a.events < ?1 - 1`;

/** A condition on the append `a`, with parameters from `?4`. */
function anyPrefix(count: number): string {
  if (count === 0) return 'FALSE';
  return `(${Array.from({ length: count }, (_, index) => `instr(a.stream, ?${index + 4}) = 1`).join(' OR ')})`;
}

/**
 * The end of the last append within `WINDOW` after a position, or of the first one after it if those in the window have
 * expired.
 */
function boundary({ prepared }: DatabaseSession, after: number, expired: number): number {
  const [upTo] = prepared(BOUNDARY).get(after + WINDOW) as [number | null];
  if (after < expired && (upTo === null || upTo <= after))
    return (prepared('SELECT min(position) FROM appends WHERE position > ?').get(after) as [number])[0];
  if (upTo === null || upTo <= after) throw new DamagedLog(`there is no append for position ${after + 1}`);
  return upTo;
}

/** How many of the planned events fit in a batch, and whether all do. */
function fitBatch(planned: readonly PlannedRead[], most: number): { count: number; isWhole: boolean } {
  let count = 0;
  let bytes = 0;
  for (const [events, size] of planned) {
    count += events;
    bytes += size;
    if (count >= most || bytes >= BATCH_BYTES) return { count: Math.min(count, most), isWhole: false };
  }
  return { count, isWhole: true };
}

function toEvent([position, stream, revision, id, type, data, meta]: EventRow): RecordedEvent {
  return { position: positionOf(position), stream, revision, id, type, data, meta };
}

/** The part of an append that is to be read: number of events, bytes, and the position of the first one read. */
type PlannedRead = readonly [events: number, bytes: number, first: number];

/** Raises `DamagedLog` unless the rows, each starting with its position, are exactly the planned events. */
function refuseMissing(
  rows: readonly (readonly [position: number, ...rest: unknown[]])[],
  planned: readonly PlannedRead[],
  count: number,
  step: 1 | -1,
): void {
  let at = 0;
  for (const [events, , first] of planned) {
    for (let offset = 0; offset < events && at < count; offset += 1, at += 1) {
      const position = first + step * offset;
      if (rows[at]?.[0] !== position) throw new DamagedLog(`there is no event at position ${position}`);
    }
    if (at === count) break;
  }
  if (at !== count || rows.length !== count) throw new DamagedLog('its events differ from those appended');
}

/** Raises `DamagedLog` unless the numbers are consecutive, from the expected first one to the expected last one. */
function refuseSkipped(
  numbers: readonly number[],
  {
    first,
    step,
    last,
  }: { readonly first: number | undefined; readonly step: 1 | -1; readonly last: number | undefined },
  what: string,
): void {
  let expected = first ?? numbers[0];
  for (const number of numbers) {
    if (number !== expected) throw new DamagedLog(`there is no event at ${what} ${expected}`);
    expected += step;
  }
  if (last !== undefined && expected !== last + step && numbers.length > 0)
    throw new DamagedLog(`there is no event at ${what} ${expected}`);
}

const COVERED = `
  SELECT coalesce(sum(min(position, ?2) - max(position - events, ?1)), 0) FROM appends
  WHERE position > ?1 AND position <= ?3 AND position - events < ?2`;
const APPENDS = 'SELECT position - events, position FROM appends WHERE position > ? ORDER BY position';

/** Raises `DamagedLog` unless every position after `after` up to `upTo` belongs to an append. */
function refuseGaps(
  { database, prepared }: DatabaseSession,
  after: number,
  upTo: number,
  longest: number,
): void {
  const [covered] = prepared(COVERED).get(after, upTo, upTo + longest) as [number];
  if (covered === upTo - after) return;
  let end = after;
  for (const [start, position] of iterate<[number, number]>(database, prepared(APPENDS), after)) {
    if (start > end || end >= upTo) break;
    end = position;
  }
  throw new DamagedLog(`there is no append for position ${end + 1}`);
}

const HEADS = 'SELECT (SELECT max(position) FROM appends), (SELECT max(position) FROM events)';
const COUNTS = `
  SELECT (SELECT count(*) FROM appends NOT INDEXED),
    (SELECT count(*) FROM appends INDEXED BY sqlite_autoindex_appends_1)`;

/** Raises `DamagedLog` if the end of the log is incomplete, which reading does not detect. */
export function refuseTorn({ prepared }: Pick<DatabaseSession, 'prepared'>): void {
  const [appends, events] = prepared(HEADS).get() as [number | null, number | null];
  if (appends !== events)
    throw new DamagedLog(
      `its appends end at position ${appends ?? 0}, its events at position ${events ?? 0}`,
    );
}

/** Raises `DamagedLog` if the index of streams lacks an append. Takes time proportional to the length of the log. */
export function refuseTornIndex({ prepared }: Pick<DatabaseSession, 'prepared'>): void {
  const [inTable, inIndex] = prepared(COUNTS).get() as [number, number];
  if (inTable !== inIndex) throw new DamagedLog('its index of streams is incomplete');
}
