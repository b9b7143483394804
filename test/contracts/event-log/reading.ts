import fc from 'fast-check';
import { NO_STREAM, numberOf, positionOf, type RecordedEvent, START } from '../../../src/kernel/event';
import { type EventBatch } from '../../../src/kernel/event-log';
import { anyCharacter } from '../../support/any-characters';
import { fill, gather, idsOf, newCategory, newEvent, newEvents, streamOf, type Subject } from './events';

/** Events of several batches, none of which an engine may leave out. */
const HUGE = 5_000;

export function reading({ log, reopen }: Subject): void {
  let category: string;
  beforeEach(() => {
    category = newCategory();
  });

  test('a missing stream as empty, in both directions', async () => {
    expect(await streamOf(log(), `${category}-1`)).toEqual([]);
    expect(await streamOf(log(), `${category}-1`, { backwards: true })).toEqual([]);
  });

  test('nothing with a limit of 0', async () => {
    await log().append(`${category}-1`, NO_STREAM, newEvents(2));

    expect(await streamOf(log(), `${category}-1`, { limit: 0 })).toEqual([]);
    expect(await streamOf(log(), `${category}-1`, { limit: 0, backwards: true })).toEqual([]);
  });

  test('invalid streams as empty', async () => {
    for (const name of ['', '$all', '$$feed-1']) expect(await streamOf(log(), name)).toEqual([]);
  });

  test('to the end or to an error: closing the log does not end a read as if it were complete', async () => {
    const cutShort = { name: 'EngineUnavailable' };
    await fill(log(), `${category}-1`, 1_000);
    const stream = log().readStream(`${category}-1`, { batchSize: 1 })[Symbol.asyncIterator]();
    const all = log().readAll({ after: START, batchSize: 1 })[Symbol.asyncIterator]();
    const backwards = log().readAllBackwards({ batchSize: 1 })[Symbol.asyncIterator]();
    for (const read of [stream, all, backwards]) await read.next();
    const closed = log();
    await reopen();

    for (const read of [stream, all, backwards]) await expect(drained(read)).rejects.toMatchObject(cutShort);
    await expect(streamOf(closed, `${category}-1`)).rejects.toMatchObject(cutShort);
    await expect(closed.head()).rejects.toMatchObject(cutShort);
    await expect(closed.append(`${category}-1`, 999, newEvents(1))).rejects.toMatchObject(cutShort);
    expect((await gather(closed.subscribe({ after: START }))).events).toEqual([]);
  });

  test('what was appended, unchanged', async () => {
    const texts = fc.json({ maxDepth: 2, stringUnit: anyCharacter }).map((json) => `{"b":${json}, "a" : 1}`);
    let revision = NO_STREAM;
    await fc.assert(
      fc.asyncProperty(
        texts,
        texts,
        fc.string({ minLength: 1, unit: 'grapheme' }),
        async (data, meta, word) => {
          const event = { ...newEvent(), type: `Happened ${word}`, data, meta };
          const appended = await log().append(`${category}-ü`, revision, [event]);
          revision = appended.revision;

          expect(await streamOf(log(), `${category}-ü`, { from: revision })).toEqual([
            { ...event, stream: `${category}-ü`, ...appended },
          ]);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('any part of a stream, forwards and backwards, in batches of any size', async () => {
    const stream = `${category}-1`;
    let length = 0;
    for (const size of [1, 7, 500, 1, 1, 120, 3]) {
      await log().append(stream, length - 1, newEvents(size));
      await log().append(`${category}-2`, length - 1, newEvents(size));
      length += size;
    }
    const whole = await streamOf(log(), stream);
    expect(whole.map((event) => event.revision)).toEqual([...Array(length).keys()]);

    const options = fc.record(
      {
        from: fc.integer({ min: 0, max: length + 5 }),
        limit: fc.integer({ min: 0, max: length + 5 }),
        batchSize: fc.integer({ min: 1, max: length + 5 }),
        backwards: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(options, async ({ from, limit, batchSize, backwards }) => {
        const batches: (readonly RecordedEvent[])[] = [];
        const asked = JSON.parse(JSON.stringify({ from, limit, batchSize, backwards })) as object;
        for await (const batch of log().readStream(stream, asked)) batches.push(batch);

        const ordered = backwards === true ? [...whole].reverse() : whole;
        const wanted = ordered.filter(({ revision }) =>
          backwards === true ? revision <= (from ?? length) : revision >= (from ?? 0),
        );
        expect(idsOf(batches.flat())).toEqual(idsOf(wanted.slice(0, limit)));
        expect(Math.max(...batches.map((batch) => batch.length), 0)).toBeLessThanOrEqual(batchSize ?? 1_000);
      }),
      { numRuns: 60 },
    );
  });

  test('a huge stream, forwards and backwards', async () => {
    const stream = `${category}-1`;
    const events = await fill(log(), stream, HUGE);

    expect(idsOf(await streamOf(log(), stream))).toEqual(idsOf(events));
    expect(idsOf(await streamOf(log(), stream, { backwards: true }))).toEqual(idsOf(events).toReversed());
    expect(await streamOf(log(), stream, { from: HUGE - 1 })).toHaveLength(1);
  });

  test('everything after a position in one order over all streams, up to the end at the start of the read', async () => {
    const before = await log().head();
    const ends: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      const { position } = await log().append(
        `${category}-${n % 3}`,
        Math.floor(n / 3) * 4 - 1,
        newEvents(4),
      );
      ends.push(position);
    }
    const batches: EventBatch[] = [];
    for await (const batch of log().readAll({ after: before, prefixes: [category], batchSize: 7 })) {
      if (batches.length === 0) await log().append(`${category}-late`, NO_STREAM, [newEvent()]);
      batches.push(batch);
    }

    const events = batches.flatMap((batch) => batch.events);
    expect(events).toHaveLength(120);
    expect(positionsOf(events)).toEqual(positionsOf(events).toSorted());
    expect(new Set(positionsOf(events)).size).toBe(120);
    expect(positionsOf(events).filter((_, index) => index % 4 === 3)).toEqual(ends);
    expect(batches.map(({ caughtUp }) => caughtUp)).toEqual(batches.map((_, n) => n === batches.length - 1));
    expect(Math.max(...batches.map((batch) => batch.events.length))).toBeLessThanOrEqual(7);
  });

  test('positions that convert to numbers in the same order, and back', async () => {
    await fill(log(), `${category}-1`, 50);

    const positions = (await streamOf(log(), `${category}-1`)).map(({ position }) => position);
    const numbers = positions.map(numberOf);
    expect(numbers.every(Number.isSafeInteger)).toBe(true);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers.map(positionOf)).toEqual(positions);
  });

  test('exactly what follows each position', async () => {
    for (let n = 0; n < 5; n += 1) await log().append(`${category}-${n}`, NO_STREAM, newEvents(3));
    const { events } = await gather(log().readAll({ after: START, prefixes: [category] }));

    for (const [index, { position }] of events.entries()) {
      const rest = await gather(log().readAll({ after: position, prefixes: [category], batchSize: 4 }));
      expect(idsOf(rest.events)).toEqual(idsOf(events.slice(index + 1)));
    }
  });

  test('only streams with one of the prefixes, and still reports how far it has read', async () => {
    const before = await log().head();
    for (const name of ['feed-1', 'feeds-1', 'feed%-1', 'Feed-1', 'voucher-1', 'feed-12'])
      await log().append(`${category}${name}`, NO_STREAM, newEvents(2));
    const read = async (prefixes: readonly string[]): Promise<readonly string[]> => {
      const found = await gather(log().readAll({ after: before, prefixes }));
      expect(found.position).toBe(await log().head());
      return [...new Set(found.events.map((event) => event.stream.slice(category.length)))];
    };

    expect(await read([`${category}feed-`])).toEqual(['feed-1', 'feed-12']);
    expect(await read([`${category}feed-1`, `${category}voucher-`])).toEqual([
      'feed-1',
      'voucher-1',
      'feed-12',
    ]);
    expect(await read([`${category}feed%`])).toEqual(['feed%-1']);
    expect(await read([`${category}claim-`])).toEqual([]);
    expect(await read([])).toEqual([]);
  });

  test('nothing after the end: one batch that has caught up', async () => {
    await log().append(`${category}-1`, NO_STREAM, newEvents(2));
    const end = await log().head();
    const batches: EventBatch[] = [];
    for await (const batch of log().readAll({ after: end })) batches.push(batch);

    expect(batches).toEqual([{ events: [], position: end, caughtUp: true }]);
  });

  test('its head: the position of the last event, even after a restart', async () => {
    const { position } = await log().append(`${category}-1`, NO_STREAM, newEvents(2));
    const head = await log().head();
    const later = await (await reopen()).head();

    // Others may append too.
    const { events } = await gather(log().readAll({ after: START }));
    const last = positionsOf(events).filter((at) => at >= position);
    expect(last).toContain(head);
    expect(last.slice(last.indexOf(head))).toContain(later);
  });
}

async function drained(read: AsyncIterator<unknown>): Promise<void> {
  for (let next = await read.next(); next.done !== true;) next = await read.next();
}

function positionsOf(events: readonly RecordedEvent[]): readonly string[] {
  return events.map((event) => event.position);
}
