import { DamagedLog } from '../../../kernel/event-log';
import { iterate, type Session } from '../connection';

/** The part of an append that is to be read: number of events, bytes, and the position of the first one read. */
export type PlannedRead = readonly [events: number, bytes: number, first: number];

/** Raises `DamagedLog` unless the rows, each starting with its position, are exactly the planned events. */
export function refuseMissing(
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
export function refuseSkipped(
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
export function refuseGaps(
  { database, prepared }: Session,
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
export function refuseTorn({ prepared }: Pick<Session, 'prepared'>): void {
  const [appends, events] = prepared(HEADS).get() as [number | null, number | null];
  if (appends !== events)
    throw new DamagedLog(
      `its appends end at position ${appends ?? 0}, its events at position ${events ?? 0}`,
    );
}

/** Raises `DamagedLog` if the index of streams lacks an append. Takes time proportional to the length of the log. */
export function refuseTornIndex({ prepared }: Pick<Session, 'prepared'>): void {
  const [inTable, inIndex] = prepared(COUNTS).get() as [number, number];
  if (inTable !== inIndex) throw new DamagedLog('its index of streams is incomplete');
}
