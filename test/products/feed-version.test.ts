import { randomUUID } from 'node:crypto';
import { Directory } from '../../src/directory/directory';
import { NO_STREAM, type Position, streamOf, timeOf as timeOfEvent } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { eventAt } from '../../src/kernel/last-event';
import { type ProductMeta } from '../../src/products/feed';
import { isClosing } from '../../src/products/feed-closings';
import { FeedVersions } from '../../src/products/feed-version';
import { withLog } from '../support/temporary-log';

const FEED_ID = 22;
const FEED = streamOf('feed', FEED_ID);
const MAPPING = streamOf('mapping', FEED_ID);

/** Appends one event that tells the minute it happened in; its position. */
async function append(
  log: EventLog,
  stream: string,
  type: string,
  minute: number,
  more = {},
): Promise<Position> {
  const last = await eventAt(log, stream);
  const before = last?.revision ?? NO_STREAM;
  const at = timeOf(minute);
  const isOfSameLoad = last !== undefined && !isClosing(last) && timeOfEvent(last) === at;
  const first = isOfSameLoad ? (JSON.parse(last.meta) as ProductMeta).first : before + 1;
  const meta = JSON.stringify(isClosing({ type }) ? {} : { first });
  const event = { id: randomUUID(), type, data: JSON.stringify({ at, ...more }), meta };
  return (await log.append(stream, before, [event])).position;
}

function timeOf(minute: number): string {
  return new Date(Date.parse('2026-05-01T12:00:00Z') + minute * 60_000).toISOString();
}

interface World {
  readonly log: EventLog;
  readonly directory: Directory;
  /** Appends to the feed's stream. */
  readonly feed: (type: string, minute: number) => Promise<Position>;
  /** Maps a name. */
  readonly map: (name: string, minute: number) => Promise<Position>;
  /** Defines a category of this name. */
  readonly define: (id: string, name: string, minute: number) => Promise<Position>;
  /** The time of the version at a position. */
  readonly timeAt: (position: Position) => Promise<string | undefined>;
  readonly versions: FeedVersions;
}

/** A feed whose products bear these names of categories, and are mapped to these. */
async function withFeed(
  bears: { readonly names: string[]; readonly categoryIds: string[] },
  use: (world: World) => Promise<void>,
): Promise<void> {
  await withLog(async (log) => {
    const directory = new Directory();
    const versions = new FeedVersions(log, directory, {
      countRemapped: async (_, { changes, categoryIds }) =>
        changes.filter(({ value }) => bears.names.includes(value)).length +
        categoryIds.filter((id) => bears.categoryIds.includes(id)).length,
    });
    await use({
      log,
      directory,
      versions,
      feed: (type, minute) => append(log, FEED, type, minute),
      map: (name, minute) =>
        append(log, MAPPING, 'CategoryMapped', minute, { feedId: FEED_ID, name, categoryId: '1' }),
      define: async (id, name, minute) => {
        const stream = streamOf('category', id);
        const position = await append(log, stream, 'CategoryDefined', minute, {
          id,
          parentId: null,
          names: { en: name },
        });
        for await (const [event] of log.readStream(stream, { backwards: true, limit: 1 }))
          directory.apply(event!);
        return position;
      },
      timeAt: async (position) => (await versions.at(FEED_ID, position))?.version?.at,
    });
  });
}

/** From now on: events read of streams. */
function countReads(log: EventLog): () => number {
  let read = 0;
  const readStream = log.readStream.bind(log);
  log.readStream = async function* (...args) {
    for await (const events of readStream(...args)) {
      read += events.length;
      yield events;
    }
  };
  return () => read;
}

const BARE = { names: [], categoryIds: [] };

describe('the version of a feed (decisions P18, P19, X62)', () => {
  test('is published by the end of each load or deletion that changes something', async () => {
    await withFeed(BARE, async ({ log, feed, timeAt, versions }) => {
      const refused = await feed('FeedImported', 2);
      expect(await versions.at(FEED_ID, refused)).toBeUndefined();
      const listed = await feed('ProductListed', 3);
      expect(await versions.at(FEED_ID, listed)).toEqual({ content: listed });
      const closed = await feed('FeedImported', 4);
      expect(await versions.at(FEED_ID, closed)).toEqual({
        content: listed,
        version: { position: closed, at: timeOf(4) },
      });
      const elsewhere = await append(log, 'feed-23', 'ProductListed', 5);
      const unchanged = await feed('FeedImported', 6);
      for (const position of [elsewhere, unchanged, unchanged])
        expect(await timeAt(position)).toBe(timeOf(4));
      const delisted = await feed('ProductDelisted', 8);
      expect(await versions.at(FEED_ID, delisted)).toEqual({
        content: delisted,
        version: { position: closed, at: timeOf(4) },
      });
      expect(await timeAt(await feed('ProductsDeleted', 9))).toBe(timeOf(9));
      expect(await timeAt(closed)).toBe(timeOf(4));
    });
  });

  test('of a load that was broken off is published by the next that ends, though that finds all unchanged', async () => {
    await withFeed(BARE, async ({ feed, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      await feed('ProductListed', 3);
      const broken = await feed('ProductRepriced', 3);
      expect(await timeAt(broken)).toBe(timeOf(2));
      const begun = await feed('ProductRevised', 5);
      expect(await timeAt(begun)).toBe(timeOf(2));
      expect(await timeAt(await feed('FeedImported', 6))).toBe(timeOf(6));
    });
  });

  test('is that before, even if the load under way began in the moment when the last one ended', async () => {
    await withFeed(BARE, async ({ feed, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      expect(await timeAt(await feed('ProductRevised', 2))).toBe(timeOf(2));
    });
  });

  test('is found by few reads, however much a load under way has appended', async () => {
    await withFeed(BARE, async ({ log, feed, timeAt }) => {
      await feed('ProductListed', 1);
      const closed = await feed('FeedImported', 2);
      for (let count = 0; count < 60; count += 1) await feed('ProductListed', 3);
      const reads = countReads(log);
      expect(await timeAt(await log.head())).toBe(timeOf(2));
      expect(reads()).toBeLessThan(10);
      expect(await timeAt(closed)).toBe(timeOf(2));
    });
  });

  test('is found by few reads after a long time of loads that changed nothing, whatever older state was asked for between', async () => {
    await withFeed(BARE, async ({ log, feed, timeAt }) => {
      const refused = await feed('FeedImported', 1);
      await feed('ProductListed', 2);
      for (let minute = 3; minute < 60; minute += 1) await feed('FeedImported', minute);
      expect(await timeAt(await log.head())).toBe(timeOf(3));
      expect(await timeAt(refused)).toBeUndefined();
      const reads = countReads(log);
      expect(await timeAt(await log.head())).toBe(timeOf(3));
      expect(reads()).toBeLessThan(25);
    });
  });

  test('is found one by one in a log whose events do not tell where their load began', async () => {
    await withFeed(BARE, async ({ log, feed, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      const types = ['ProductListed', 'ProductRevised', 'ProductDelisted'];
      const events = types.map((type) => {
        return { id: randomUUID(), type, data: JSON.stringify({ at: timeOf(3) }), meta: '{}' };
      });
      const { position } = await log.append(FEED, 1, events);
      expect(await timeAt(position)).toBe(timeOf(2));
    });
  });

  test('is published by a mapping of a name that a product bears, and by no other', async () => {
    const bears = { names: ['Lamps', 'Radios'], categoryIds: [] };
    await withFeed(bears, async ({ feed, map, timeAt }) => {
      const first = await map('Lamps', 1);
      expect(await timeAt(first)).toBeUndefined();
      await feed('ProductListed', 2);
      await feed('FeedImported', 3);
      expect(await timeAt(await map('Nobody', 4))).toBe(timeOf(3));
      const mapped = await map('Lamps', 5);
      expect(await timeAt(await map('Nobody either', 6))).toBe(timeOf(5));
      expect(await timeAt(await map('Radios', 7))).toBe(timeOf(7));
      expect(await timeAt(mapped)).toBe(timeOf(5));
      await feed('ProductDelisted', 8);
      expect(await timeAt(await feed('ProductsDeleted', 9))).toBe(timeOf(9));
    });
  });

  test('is published by a change of categories that concerns products, and by no other', async () => {
    const bears = { names: ['Lamps'], categoryIds: ['7'] };
    await withFeed(bears, async ({ feed, define, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      expect(await timeAt(await define('1', 'Nobody', 3))).toBe(timeOf(2));
      expect(await timeAt(await define('2', 'Lamps', 4))).toBe(timeOf(4));
      expect(await timeAt(await define('7', 'Mapped to', 5))).toBe(timeOf(5));
      expect(await timeAt(await define('8', 'Nobody either', 6))).toBe(timeOf(5));
    });
  });

  test('is published by a change of a category that has changed once more since what is shown', async () => {
    await withFeed({ names: ['Lamps'], categoryIds: [] }, async ({ feed, define, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      const shown = await define('2', 'Lamps', 3);
      await define('2', 'Shelves', 4);
      expect(await timeAt(shown)).toBe(timeOf(3));
    });
  });

  test('is published by a change of so many categories that it is not told what they concern, and by mappings after it', async () => {
    await withFeed({ names: ['Lamps'], categoryIds: [] }, async ({ feed, directory, log, map, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      const position = await append(log, 'category-1', 'CategoryDefined', 3);
      for (let id = 0; id < 100; id += 1)
        directory.categoryChanges.push({ id: String(id), position, at: timeOf(3) });
      expect(await timeAt(position)).toBe(timeOf(2));
      const oneMore = await append(log, 'category-1', 'CategoryDefined', 4);
      directory.categoryChanges.push({ id: 'one more', position: oneMore, at: timeOf(4) });
      expect(await timeAt(oneMore)).toBe(timeOf(4));
      expect(await timeAt(await map('Lamps', 5))).toBe(timeOf(5));
    });
  });

  test('is the same in the middle of a load, whatever mapping its products hang on from now on', async () => {
    const bears = { names: ['Lamps'], categoryIds: [] as string[] };
    await withFeed(bears, async ({ feed, map, define, timeAt }) => {
      await feed('ProductListed', 1);
      await feed('FeedImported', 2);
      await map('Shelves', 3);
      expect(await timeAt(await map('Lamps', 4))).toBe(timeOf(4));
      bears.names = ['Shelves'];
      expect(await timeAt(await feed('ProductRevised', 5))).toBe(timeOf(4));
      expect(await timeAt(await define('1', 'Nobody', 6))).toBe(timeOf(4));
    });
  });

  test('is of other content after each mapping, also once a load has found nothing changed since', async () => {
    await withFeed(BARE, async ({ feed, map, versions }) => {
      const listed = await feed('ProductListed', 1);
      expect(await versions.at(FEED_ID, listed)).toMatchObject({ content: listed });
      const mapped = await map('Lamps', 2);
      expect(await versions.at(FEED_ID, mapped)).toMatchObject({ content: mapped });
      const closed = await feed('FeedImported', 3);
      expect(await versions.at(FEED_ID, closed)).toMatchObject({ content: mapped });
    });
  });
});
