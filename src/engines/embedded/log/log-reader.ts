import { type RecordedEvent } from '../../../kernel/event';
import { APPEND_LIMITS, DamagedLog } from '../../../kernel/event-log';
import { Connection, type Session } from '../connection';
import { type Planned, refuseGaps, refuseMissing, refuseSkipped } from './damage';
import { toPosition } from './packed';
import { EVENTS_OF_APPENDS, HEAD, openToRead, REVISION, SUBJECT } from './schema';

/** Bytes after which a batch is cut: it is over them by less than one append. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Positions looked through for one batch, so that sparse events do not hold up the thread. */
const WINDOW = 50_000;

/** Some events in log order, and the position up to which they are all there are. */
export interface Stretch {
  readonly events: readonly RecordedEvent[];
  readonly upTo: number;
}

/** Some events of a stream; `whole` says that there are no more. */
export interface StreamStretch {
  readonly events: readonly RecordedEvent[];
  readonly whole: boolean;
}

type Row = readonly [number, string, number, string, string, string, string];

const EVENT = `e.position, a.stream, ${REVISION}, e.id, e.type, e.data, e.meta`;
/** The plus keeps SQLite from joining by a condition on it: each append would read all events from that bound. */
const POSITION = '+e.position';
const BOUNDARY = 'SELECT max(position) FROM appends WHERE position <= ?';

/**
 * Reads the log's file; positions are row ids here. A call has done its reading when it returns: nothing is
 * held open in between, so that a slow consumer does not keep the write-ahead log from being worked off. Events that
 * are missing where they should be raise `DamagedLog`: a damaged log is not taken for a shorter one.
 */
export class LogReader {
  readonly #connection: Connection;

  constructor(file: string) {
    this.#connection = new Connection(SUBJECT, () => openToRead(file));
  }

  /** The last position, 0 in an empty log. */
  head(): number {
    return this.#connection.use(({ prepared }) => (prepared(HEAD).get() as [number])[0]);
  }

  /** The first `most` events after a position up to `end`, which is a head; of streams with these prefixes. */
  after(after: number, end: number, prefixes: readonly string[] | undefined, most: number): Stretch {
    if (after >= end) return { events: [], upTo: after };
    const streams = prefixes ?? [];
    const wanted = prefixes === undefined ? 'TRUE' : anyPrefix(prefixes.length);
    return this.#ofOneMoment((session) => {
      const { prepared } = session;
      const upTo = end <= after + WINDOW ? end : boundary(session, after);
      const planned = prepared(
        `SELECT min(a.events, a.position - ?1), a.bytes, max(a.position - a.events, ?1) + 1 FROM appends a
         WHERE a.position > ?1 AND a.position <= ?2 AND ${wanted} ORDER BY a.position LIMIT ?3`,
      ).all(after, upTo, most, ...streams) as Planned[];
      const { count, whole } = cut(planned, most);
      const rows =
        count === 0
          ? []
          : (prepared(
              `SELECT ${EVENT} FROM ${EVENTS_OF_APPENDS}
               WHERE a.position > ?1 AND a.position <= ?2 AND ${POSITION} > ?1 AND ${wanted}
               ORDER BY a.position, e.position LIMIT ?3`,
            ).all(after, upTo, count, ...streams) as Row[]);
      refuseMissing(rows, planned, count, 1);
      const seen = whole ? upTo : (rows.at(-1)?.[0] ?? upTo);
      refuseGaps(session, after, seen, APPEND_LIMITS.events);
      return { events: rows.map(toEvent), upTo: seen };
    });
  }

  /** The last `most` events before a position, the last one first. */
  before(before: number, most: number): readonly RecordedEvent[] {
    return this.#ofOneMoment(({ prepared }) => {
      const planned = prepared(
        `SELECT min(a.events, ?1 - 1 - a.position + a.events), a.bytes, min(a.position, ?1 - 1) FROM appends a
         WHERE ${APPENDS_BEFORE} ORDER BY a.position DESC LIMIT ?2`,
      ).all(before, most) as Planned[];
      const { count, whole } = cut(planned, most);
      const rows = prepared(
        `SELECT ${EVENT} FROM ${EVENTS_OF_APPENDS} WHERE ${APPENDS_BEFORE} AND ${POSITION} < ?1
         ORDER BY a.position DESC, e.position DESC LIMIT ?2`,
      ).all(before, count) as Row[];
      refuseMissing(rows, planned, count, -1);
      const last = Math.min(before - 1, (prepared(HEAD).get() as [number])[0]);
      refuseSkipped(
        rows.map(([position]) => position),
        { first: last, step: -1, last: whole ? 1 : undefined },
        'position',
      );
      return rows.map(toEvent);
    });
  }

  /** The first `most` events of a stream from a revision on, or back from it. */
  ofStream(stream: string, from: number, backwards: boolean, most: number): StreamStretch {
    const { append, event, left, first, order, step } = backwards ? BACKWARDS : FORWARDS;
    return this.#ofOneMoment(({ prepared }) => {
      const planned = prepared(
        `SELECT min(a.events, ${left}), a.bytes, ${first} FROM appends a
         WHERE a.stream = ?1 AND ${append} ORDER BY a.revision ${order} LIMIT ?3`,
      ).all(stream, from, most) as Planned[];
      const { count, whole } = cut(planned, most);
      if (count === 0) return { events: [], whole };
      const rows = prepared(
        `SELECT ${EVENT} FROM ${EVENTS_OF_APPENDS} WHERE a.stream = ?1 AND ${append} AND ${event}
         ORDER BY a.revision ${order}, e.position ${order} LIMIT ?3`,
      ).all(stream, from, count) as Row[];
      refuseMissing(rows, planned, count, step);
      refuseSkipped(
        rows.map(([, , revision]) => revision),
        { first: backwards ? undefined : from, step, last: backwards && whole ? 0 : undefined },
        `${stream} revision`,
      );
      return { events: rows.map(toEvent), whole };
    });
  }

  close(): void {
    this.#connection.close();
  }

  /** Reads what belongs together: an append between two statements would look like damage. */
  #ofOneMoment<T>(read: (session: Session) => T): T {
    return this.#connection.use((session) => {
      session.prepared('BEGIN').run();
      const result = read(session);
      session.prepared('COMMIT').run();
      return result;
    });
  }
}

/** From the revision `?2` on: the appends and events wanted, and how many of them an append has at most. */
const FORWARDS = {
  append: 'a.revision >= ?2',
  event: `${REVISION} >= ?2`,
  left: 'a.revision - ?2 + 1',
  first: 'max(a.position - a.events, a.position - a.revision + ?2 - 1) + 1',
  order: 'ASC',
  step: 1,
} as const;

/** The same back from it. The append that it lies in ends less than the longest append after it. */
const BACKWARDS = {
  append: `a.revision < ?2 + ${APPEND_LIMITS.events} AND a.revision - a.events < ?2`,
  event: `${REVISION} <= ?2`,
  left: '?2 - a.revision + a.events',
  first: 'min(a.position, a.position - a.revision + ?2)',
  order: 'DESC',
  step: -1,
} as const;

/** Those with events before the position `?1`: the one that it lies in ends less than the longest append after it. */
const APPENDS_BEFORE = `a.position < ?1 + ${APPEND_LIMITS.events} AND a.position - a.events < ?1 - 1`;

/** A condition on the append `a` with its parameters from `?4` on. */
function anyPrefix(count: number): string {
  if (count === 0) return 'FALSE';
  return `(${Array.from({ length: count }, (_, index) => `instr(a.stream, ?${index + 4}) = 1`).join(' OR ')})`;
}

/** The end of the last append within a window after a position. */
function boundary({ prepared }: Session, after: number): number {
  const [upTo] = prepared(BOUNDARY).get(after + WINDOW) as [number | null];
  if (upTo === null || upTo <= after) throw new DamagedLog(`there is no append for position ${after + 1}`);
  return upTo;
}

/** How many events fit a batch, and whether they are all that was planned. */
function cut(planned: readonly Planned[], most: number): { count: number; whole: boolean } {
  let count = 0;
  let bytes = 0;
  for (const [events, size] of planned) {
    count += events;
    bytes += size;
    if (count >= most || bytes >= BATCH_BYTES) return { count: Math.min(count, most), whole: false };
  }
  return { count, whole: true };
}

function toEvent([position, stream, revision, id, type, data, meta]: Row): RecordedEvent {
  return { position: toPosition(position), stream, revision, id, type, data, meta };
}
