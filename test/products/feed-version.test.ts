import { randomUUID } from 'node:crypto';
import { NO_STREAM, type Position } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { FeedVersions } from '../../src/products/feed-version';
import { withLog } from '../support/temporary-log';

const revisions = new WeakMap<EventLog, Map<string, number>>();

/** Appends one event, told by its type and the minute it happened in; its position. */
async function append(log: EventLog, stream: string, type: string, minute: number): Promise<Position> {
  const known = revisions.get(log) ?? new Map<string, number>();
  revisions.set(log, known);
  const data = JSON.stringify({ at: timeOf(minute) });
  const event = { id: randomUUID(), type, data, meta: '{}' };
  const { revision, position } = await log.append(stream, known.get(stream) ?? NO_STREAM, [event]);
  known.set(stream, revision);
  return position;
}

function timeOf(minute: number): string {
  return `2026-05-01T12:${String(minute).padStart(2, '0')}:00.000Z`;
}

describe('the version of a feed (decisions P18, P19)', () => {
  test('is made by each load, deletion or mapping that changes something', async () => {
    await withLog(async (log) => {
      const versions = new FeedVersions(log);
      const at = async (position: Position) => (await versions.at(22, position))?.at;
      const mappedFirst = await append(log, 'mapping-22', 'CategoryMapped', 1);
      expect(await at(mappedFirst)).toBeUndefined();
      const refused = await append(log, 'feed-22', 'FeedImported', 2);
      expect(await at(refused)).toBeUndefined();
      const listed = await append(log, 'feed-22', 'ProductListed', 3);
      expect(await at(listed)).toBe(timeOf(3));
      const closed = await append(log, 'feed-22', 'FeedImported', 4);
      const elsewhere = await append(log, 'feed-23', 'ProductListed', 5);
      const unchanged = await append(log, 'feed-22', 'FeedImported', 6);
      for (const position of [closed, elsewhere, unchanged]) expect(await at(position)).toBe(timeOf(3));
      const mapped = await append(log, 'mapping-22', 'CategoryUnmapped', 7);
      const delisted = await append(log, 'feed-22', 'ProductDelisted', 8);
      expect([await at(mapped), await at(delisted)]).toEqual([timeOf(7), timeOf(8)]);
      expect(await versions.at(22, delisted)).toEqual({ position: delisted, at: timeOf(8) });
    });
  });

  test('at a position is not that of what has been appended since', async () => {
    await withLog(async (log) => {
      const versions = new FeedVersions(log);
      const listed = await append(log, 'feed-22', 'ProductListed', 1);
      const mapped = await append(log, 'mapping-22', 'CategoryMapped', 2);
      const unchanged = await append(log, 'feed-22', 'FeedImported', 3);
      for (let minute = 4; minute < 30; minute += 1) await append(log, 'feed-22', 'ProductRepriced', minute);
      const newest = await log.head();
      const found = async () =>
        Promise.all([newest, listed, mapped, unchanged].map(async (one) => (await versions.at(22, one))?.at));
      const expected = [timeOf(29), timeOf(1), timeOf(2), timeOf(2)];
      expect(await found()).toEqual(expected);
      expect(await found()).toEqual(expected);
    });
  });
});
