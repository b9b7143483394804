import { type Session } from '../connection';

/** An append of a slice: `isOld` says that it is older than what is kept. */
type Row = readonly [position: number, stream: string, revision: number, events: number, bytes: number];

/** Limits of a slice, so that appends do not wait long for it. */
const SLICE = { appends: 500, bytes: 4 * 1024 * 1024 } as const;

/** Pages (8 KB) returned to the file system at a time. */
const PAGES = 500;

const EXPIRED = 'SELECT position FROM expired';
const NEXT = `
  SELECT position, stream, revision, events, bytes, at < ? FROM appends WHERE position > ? ORDER BY position LIMIT ${SLICE.appends}`;
const LAST = 'SELECT revision FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1';
/** What was the last of its stream before. */
const SUPERSEDED = `
  SELECT position, stream, revision, events, bytes FROM appends a WHERE position <= (${EXPIRED}) AND at < ?
    AND EXISTS (SELECT 1 FROM appends b WHERE b.stream = a.stream AND b.revision > a.revision) LIMIT ${SLICE.appends}`;
const DELETE_EVENTS = 'DELETE FROM events WHERE position > ? AND position <= ?';
const DELETE_APPEND = 'DELETE FROM appends WHERE position = ?';
const KEEP_LAST_EVENT = `
  UPDATE appends SET events = 1, bytes =
    (SELECT octet_length(type) + octet_length(data) + octet_length(meta) FROM events WHERE events.position = appends.position)
  WHERE position = ?`;

/** The position up to which a log has expired. */
export function expiredUpTo({ prepared }: Pick<Session, 'prepared'>): number {
  return (prepared(EXPIRED).get() as [number])[0];
}

/**
 * Deletes one slice of the appends made before a time (epoch ms), in the transaction of the caller. False: there was
 * nothing.
 */
export function expireSlice({ prepared }: Session, before: number): boolean {
  const superseded = prepared(SUPERSEDED).all(before) as unknown as Row[];
  for (const row of superseded) deleteAppend(row);
  const upTo = expiredUpTo({ prepared });
  const next = prepared(NEXT).all(before, upTo) as unknown as [...Row, isOld: number][];
  let bytes = 0;
  let last: number | undefined;
  for (const [...row] of next) {
    const [position, stream, revision, events, size, isOld] = row;
    // A later append that is older was made when the clock was set back: it is kept as long as this one.
    if (isOld === 0 || bytes > SLICE.bytes) break;
    bytes += size;
    last = position;
    const isLast = (prepared(LAST).get(stream) as [number])[0] === revision;
    if (!isLast) deleteAppend([position, stream, revision, events, size]);
    else if (events > 1) {
      prepared(DELETE_EVENTS).run(position - events, position - 1);
      prepared(KEEP_LAST_EVENT).run(position);
    }
  }
  if (last !== undefined) prepared('UPDATE expired SET position = ?').run(last);
  return superseded.length > 0 || last !== undefined;

  function deleteAppend([position, , , events]: Row): void {
    prepared(DELETE_EVENTS).run(position - events, position);
    prepared(DELETE_APPEND).run(position);
  }
}

/** Returns free pages to the file system. False: there are none. */
export function shrinkSlice({ database, prepared }: Session): boolean {
  const [free] = prepared('PRAGMA freelist_count').get() as [number];
  if (free === 0) return false;
  database.exec(`PRAGMA incremental_vacuum(${PAGES})`);
  return true;
}
