import fc from 'fast-check';
import { NO_STREAM, START } from '../../src/kernel/event';
import { type ExpiringLog } from '../../src/kernel/event-log';
import { cases } from '../support/size';
import { eventLogContract, type LogFixture } from './event-log';
import { fill, gather, idsOf, newCategory, newEvent, newEvents, streamOf } from './event-log/events';

/** `forgetsAtOnce`: reads of all streams skip what is expired; otherwise the server skips it when it is scavenged. */
export interface ExpiringFixture extends LogFixture {
  readonly log: ExpiringLog;
  reopen(): Promise<ExpiringLog>;
  readonly forgetsAtOnce: boolean;
}

/** What a stream should have: `age` counts the times before an event was appended. */
interface Model {
  count: number;
  left: { readonly id: string; readonly age: number }[];
}

/**
 * The promises of an `ExpiringLog`: those of an event log, or some parts of them, and what is read after it has
 * expired.
 */
export function expiringLogContract(
  name: string,
  open: () => Promise<ExpiringFixture>,
  parts?: Parameters<typeof eventLogContract>[2],
): void {
  eventLogContract(name, open, parts);

  describe(`${name}: a log that expires`, () => {
    let tried: ExpiringFixture;
    let log: ExpiringLog;
    let category: string;
    let streams: readonly string[];
    beforeAll(async () => {
      tried = await open();
      log = tried.log;
    });
    beforeEach(() => {
      category = newCategory();
      streams = [1, 2, 3].map((n) => `${category}-${n}`);
    });
    afterAll(() => tried.close());

    test('deletes what was appended before a time, and keeps the last event of each stream', async () => {
      const [one = '', two = '', three = ''] = streams;
      await fill(log, one, 1_200);
      await fill(log, two, 3);
      const time = await nextMillisecond();
      await log.append(two, 2, newEvents(2));
      await log.append(three, NO_STREAM, newEvents(2));

      await log.expire(time, streams);

      expect(await revisionsOf(one)).toEqual([1_199]);
      expect(await revisionsOf(two)).toEqual([3, 4]);
      expect(await revisionsOf(three)).toEqual([0, 1]);
    });

    test('continues revisions, also after it was reopened', async () => {
      const [stream = ''] = streams;
      await fill(log, stream, 5);
      await log.expire(await nextMillisecond(), streams);
      log = await tried.reopen();

      await expect(log.append(stream, NO_STREAM, [newEvent()])).rejects.toMatchObject({
        name: 'RevisionConflict',
        actual: 4,
      });
      expect((await log.append(stream, 4, newEvents(2))).revision).toBe(6);
      expect(await revisionsOf(stream)).toEqual([4, 5, 6]);
      await log.expire(await nextMillisecond(), streams);
      expect(await revisionsOf(stream)).toEqual([6]);
    });

    test('recognizes a repeated append as long as its events exist', async () => {
      const [stream = ''] = streams;
      const events = newEvents(3);
      await log.append(stream, NO_STREAM, events.slice(0, 2));
      await log.append(stream, 1, events.slice(2));
      const time = await nextMillisecond();
      const kept = newEvents(2);
      const appended = await log.append(stream, 2, kept);
      await log.expire(time, streams);

      expect(await log.append(stream, 2, kept)).toEqual(appended);
      expect(await revisionsOf(stream)).toEqual([3, 4]);
    });

    test('reads a stream from a deleted revision on, backwards, and in parts', async () => {
      const [stream = ''] = streams;
      await fill(log, stream, 10);
      const time = await nextMillisecond();
      await log.append(stream, 9, newEvents(7));
      await log.expire(time, streams);

      expect(await revisionsOf(stream, { from: 3, batchSize: 2 })).toEqual([10, 11, 12, 13, 14, 15, 16]);
      expect(await revisionsOf(stream, { from: 12, limit: 2 })).toEqual([12, 13]);
      expect(await revisionsOf(stream, { backwards: true, batchSize: 3 })).toEqual([
        16, 15, 14, 13, 12, 11, 10,
      ]);
      expect(await revisionsOf(stream, { backwards: true, from: 5 })).toEqual([]);
    });

    test('is read and subscribed to from a position that is deleted', async () => {
      const [one = '', two = ''] = streams;
      await fill(log, one, 20);
      const [, event] = await streamOf(log, one);
      const time = await nextMillisecond();
      const kept = await fill(log, two, 3);
      await log.expire(time, streams);

      const after = event!.position;
      const prefixes = [two];
      const read = await gather(log.readAll({ after, prefixes }));
      const followed = await gather(log.subscribe({ after, prefixes }), ({ length }) => length === 3);
      expect(idsOf(read.events)).toEqual(idsOf(kept));
      expect(idsOf(followed.events)).toEqual(idsOf(kept));
      expect(read.position).toBe(await log.head());
    });

    test('has the same streams as a list of events, whatever was appended and expired in whichever order', async () => {
      const step = fc.oneof(
        { weight: 3, arbitrary: fc.record({ stream: fc.nat(2), events: fc.integer({ min: 1, max: 4 }) }) },
        { weight: 1, arbitrary: fc.constant('expire' as const) },
        { weight: 1, arbitrary: fc.constant('time' as const) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
          const mine = newCategory();
          const names = [0, 1, 2].map((n) => `${mine}-${n}`);
          const model = names.map((): Model => ({ count: 0, left: [] }));
          let [time, age] = [new Date(0), 0];
          for (const one of steps) {
            if (one === 'time') {
              time = await nextMillisecond();
              age += 1;
            } else if (one === 'expire') {
              await log.expire(time, names);
              for (const stream of model)
                stream.left = stream.left.filter((event) => event.age >= age || event === stream.left.at(-1));
            } else {
              const events = newEvents(one.events);
              const there = model[one.stream]!;
              await log.append(names[one.stream]!, there.count - 1, events);
              there.count += one.events;
              there.left.push(...events.map(({ id }) => ({ id, age })));
            }
            if (one === 'expire') await check(names, model);
          }
          await check(names, model);
        }),
        { numRuns: cases(100, 8) },
      );
    });

    async function check(names: readonly string[], model: readonly Model[]): Promise<void> {
      for (const [at, name] of names.entries()) {
        const expected = idsOf(model[at]!.left);
        expect(idsOf(await streamOf(log, name, { batchSize: 2 }))).toEqual(expected);
        const backwards = await streamOf(log, name, { backwards: true, batchSize: 2 });
        expect(idsOf(backwards)).toEqual(expected.toReversed());
      }
      const remaining = new Set(model.flatMap(({ left }) => idsOf(left)));
      const { events } = await gather(log.readAll({ after: START, prefixes: names, batchSize: 3 }));
      const seen = tried.forgetsAtOnce ? events : events.filter(({ id }) => remaining.has(id));
      expect(new Set(idsOf(seen))).toEqual(remaining);
      expect(seen).toHaveLength(remaining.size);
    }

    async function revisionsOf(
      stream: string,
      options?: Parameters<typeof streamOf>[2],
    ): Promise<readonly number[]> {
      return (await streamOf(log, stream, options)).map(({ revision }) => revision);
    }
  });
}

/** A time after everything that was appended, and before what is appended next. */
async function nextMillisecond(): Promise<Date> {
  const ticked = async (from: number): Promise<number> => {
    while (Date.now() <= from) await new Promise(setImmediate);
    return Date.now();
  };
  const time = await ticked(Date.now());
  await ticked(time);
  return new Date(time + 1);
}
