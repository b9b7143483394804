import { EventEmitter, once } from 'node:events';
import fc from 'fast-check';
import { NO_STREAM, type Position, START } from '../../../src/kernel/event';
import { type EventBatch, type EventLog } from '../../../src/kernel/event-log';
import {
  appendAtEnd,
  fill,
  gather,
  idsOf,
  newCategory,
  newEvent,
  newEvents,
  streamOf,
  type Subject,
} from './events';

export function subscribing({ log }: Subject): void {
  let category: string;
  beforeEach(() => {
    category = newCategory();
  });

  test('from existing to new events, each once and in order, with concurrent writers', async () => {
    await fill(log(), `${category}-0`, 1_200);
    const after = START;
    const subscribers = [1, 10, 1_000].map((batchSize) =>
      gather(log().subscribe({ after, prefixes: [category], batchSize }), ({ length }) => length >= 1_500),
    );
    await writeAll(log(), category, 300);

    const everything = await gather(log().readAll({ after, prefixes: [category] }));
    expect(everything.events).toHaveLength(1_500);
    for (const { events } of await Promise.all(subscribers))
      expect(idsOf(events)).toEqual(idsOf(everything.events));
  });

  test('again from where it stopped, without gaps or duplicates', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 10 }), async (appends, batchSize) => {
        const mine = newCategory();
        let after = await log().head();
        const total = appends.reduce((sum, size) => sum + size, 0);
        const writing = Promise.all(
          appends.map((size, n) => log().append(`${mine}-${n}`, NO_STREAM, newEvents(size))),
        );
        const seen: string[] = [];
        while (seen.length < total) {
          const one = await gather(
            log().subscribe({ after, prefixes: [mine], batchSize }),
            (events) => events.length > 0,
          );
          seen.push(...idsOf(one.events));
          after = one.position!;
        }
        await writing;

        const streams = await Promise.all(appends.map((_, n) => streamOf(log(), `${mine}-${n}`)));
        const order = streams.flat().toSorted((a, b) => (a.position < b.position ? -1 : 1));
        expect(seen).toEqual(idsOf(order));
      }),
      { numRuns: 20 },
    );
  });

  test('by a prefix, and reports progress when only other streams grow', async () => {
    await fill(log(), `${category}other-1`, 600);
    const after = await log().head();
    const positions: string[] = [];
    const subscriber = gather(log().subscribe({ after, prefixes: [`${category}-`] }), (events, batch) => {
      positions.push(batch.position);
      return events.length === 1;
    });
    const others = await log().append(`${category}other-2`, NO_STREAM, newEvents(3));
    const told = await gather(
      log().subscribe({ after, prefixes: [`${category}-`] }),
      (_, batch) => batch.position >= others.position,
    );
    const event = newEvent();
    const own = await log().append(`${category}-1`, NO_STREAM, [event]);

    expect(told.events).toEqual([]);
    expect(idsOf((await subscriber).events)).toEqual([event.id]);
    // Others may append too.
    expect(positions.at(-1)! >= own.position).toBe(true);
    expect(positions).toEqual(positions.toSorted());
  });

  test('at any moment with concurrent writers: each subscriber receives every event after its position', async () => {
    const steady = new AbortController();
    const company = gather(
      log().subscribe({ after: START, prefixes: [`${category}none`], signal: steady.signal }),
    );
    const writing = { isDone: false };
    const written = writeAll(log(), category, 400).finally(() => (writing.isDone = true));
    const last = newEvent();
    const joined: { readonly after: string; readonly seen: ReturnType<typeof gather> }[] = [];
    while (!writing.isDone && joined.length < 40) {
      const after = await log().head();
      const seen = gather(
        log().subscribe({ after, prefixes: [category] }),
        (events) => events.at(-1)?.id === last.id,
      );
      joined.push({ after, seen });
    }
    await written;
    await log().append(`${category}-last`, NO_STREAM, [last]);

    const { events } = await gather(log().readAll({ after: START, prefixes: [category] }));
    for (const { after, seen } of joined)
      expect(idsOf((await seen).events)).toEqual(idsOf(events.filter(({ position }) => position > after)));
    steady.abort();
    await company;
  });

  test('again from the position of an event in another stream', async () => {
    const prefixes = [`${category}-`];
    const start = await log().head();
    const others = await log().append(`${category}other-1`, NO_STREAM, newEvents(300));
    const { position: after } = await gather(
      log().subscribe({ after: start, prefixes }),
      (_, batch) => batch.position >= others.position,
    );
    const events = await fill(log(), `${category}-1`, 3);
    await log().append(`${category}other-1`, 299, newEvents(2));

    const found = await gather(log().subscribe({ after: after!, prefixes }), ({ length }) => length >= 3);
    expect(idsOf(found.events)).toEqual(idsOf(events));
  });

  test('with positions of events only, and that of the last event once caught up', async () => {
    const prefixes = [`${category}-`];
    const start = await log().head();
    const batches: EventBatch[] = [];
    const follower = gather(log().subscribe({ after: start, prefixes, batchSize: 100 }), (events, batch) => {
      batches.push(batch);
      return events.length >= 1_200 && batch.caughtUp;
    });
    for (let n = 0; n < 3; n += 1) {
      await log().append(`${category}other-1`, n * 10 - 1, newEvents(10));
      await log().append(`${category}-1`, n * 400 - 1, newEvents(400));
    }
    await follower;
    const all = await gather(log().readAll({ after: start }));
    const positions = new Set([start, ...all.events.map(({ position }) => position)]);

    expect(batches.filter(({ position }) => !positions.has(position))).toEqual([]);
    expect(batches.at(-1)!.position).toBe(await log().head());
  });

  test('by many subscribers, who all reach the head of the log, whichever streams they follow', async () => {
    const start = await log().head();
    const filler = 'x'.repeat(1_000);
    const ending = new AbortController();
    const followers = ['-', 'other-', 'none-', ''].map((rest) =>
      positionsOf(log().subscribe({ after: start, prefixes: [category + rest], signal: ending.signal })),
    );
    for (let n = 0; n < 3; n += 1)
      await log().append(
        `${category}${n % 2 === 0 ? '-' : 'other-'}${n}`,
        NO_STREAM,
        Array.from({ length: 400 }, () => newEvent({ filler })),
      );
    const head = await log().head();

    await Promise.all(followers.map((follower) => follower.reached(head)));
    ending.abort();
    for (const follower of followers) {
      await follower.ended;
      expect(follower.last()).toBe(head);
    }
  });

  test('and reports when it has caught up: at once, or after existing events', async () => {
    const after = await log().head();
    const [nothing] = await take(log().subscribe({ after }), 1);
    expect(nothing).toEqual({ events: [], position: after, caughtUp: true });

    await fill(log(), `${category}-1`, 10);
    const batches = await take(log().subscribe({ after, prefixes: [category], batchSize: 4 }), 3);
    expect(batches.map(({ events, caughtUp }) => [events.length, caughtUp])).toEqual([
      [4, false],
      [4, false],
      [2, true],
    ]);
  });

  test('live: delivers an append without polling', async () => {
    const live = log()
      .subscribe({ after: await log().head(), prefixes: [category] })
      [Symbol.asyncIterator]();
    await live.next();
    for (let n = 0; n < 20; n += 1) {
      const next = nextWithEvents(live);
      const event = newEvent();
      await log().append(`${category}-1`, n - 1, [event]);
      const batch = await next;
      expect(idsOf(batch.events)).toEqual([event.id]);
      expect(batch.caughtUp).toBe(true);
    }
    await live.return?.();
  });

  test('live: delivers events that were appended together in batches, not one by one', async () => {
    const live = log().subscribe({ after: await log().head(), prefixes: [category] });
    const events = newEvents(400);
    const told: (readonly string[])[] = [];
    for await (const batch of live) {
      if (told.length === 0) await log().append(`${category}-1`, NO_STREAM, events);
      told.push(idsOf(batch.events));
      if (told.flat().length >= events.length) break;
    }
    expect(told.flat()).toEqual(idsOf(events));
    expect(told.length).toBeLessThan(100);
  });

  test('until it is aborted, without an error: while waiting, between batches or before the start', async () => {
    const waiting = new AbortController();
    const after = await log().head();
    const gathered = gather(log().subscribe({ after, signal: waiting.signal }), (_, batch) => {
      setImmediate(() => waiting.abort());
      return !batch.caughtUp;
    });
    expect(await gathered).toEqual({ events: [], position: after });

    await fill(log(), `${category}-1`, 10);
    const between = new AbortController();
    const some = await gather(log().subscribe({ after, batchSize: 1, signal: between.signal }), (events) => {
      if (events.length === 3) between.abort();
      return false;
    });
    expect(some.events).toHaveLength(3);

    const never = await gather(log().subscribe({ after, signal: AbortSignal.abort() }));
    expect(never).toEqual({ events: [], position: undefined });
  });
}

/** Follows until it is ended; knows the last position. */
function positionsOf(batches: AsyncIterable<EventBatch>): {
  readonly ended: Promise<void>;
  last(): Position | undefined;
  reached(position: Position): Promise<void>;
} {
  const positions: Position[] = [];
  const news = new EventEmitter();
  const ended = (async () => {
    for await (const { position } of batches) {
      positions.push(position);
      news.emit('batch');
    }
  })();
  return {
    ended,
    last: () => positions.at(-1),
    reached: async (position) => {
      while ((positions.at(-1) ?? START) < position) await once(news, 'batch');
    },
  };
}

/** So many events by eight writers at once, some of them after the same streams. */
async function writeAll(log: EventLog, category: string, count: number): Promise<void> {
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = writer; n < count; n += 8) await appendAtEnd(log, `${category}-${n % 5}`, newEvent({ n }));
  });
  await Promise.all(writers);
}

/** The log may also grow by events of others, of which only the position comes. */
async function nextWithEvents(batches: AsyncIterator<EventBatch>): Promise<EventBatch> {
  for (;;) {
    const batch = (await batches.next()).value as EventBatch;
    if (batch.events.length > 0) return batch;
  }
}

async function take(batches: AsyncIterable<EventBatch>, count: number): Promise<readonly EventBatch[]> {
  const taken: EventBatch[] = [];
  for await (const batch of batches) if (taken.push(batch) === count) break;
  return taken;
}
