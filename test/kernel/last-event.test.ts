import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { lastEventUpTo, lastEventWhere } from '../../src/kernel/last-event';
import { withLog } from '../support/temporary-log';

async function append(log: EventLog, stream: string, expected: number, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => ({
    id: randomUUID(),
    type: 'T',
    data: '{}',
    meta: '{}',
  }));
  await log.append(stream, expected, events);
}

describe('the last matching event of a stream', () => {
  test('is found wherever it is', async () => {
    await withLog(async (log) => {
      await append(log, 'other-1', NO_STREAM, 3);
      await append(log, 'feed-1', NO_STREAM, 40);
      await append(log, 'other-1', 2, 5);
      await append(log, 'feed-1', 39, 23);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: -1, max: 70 }), async (last) => {
          const found = await lastEventWhere(log, 'feed-1', ({ revision }) => revision <= last);
          expect(found?.revision ?? -1).toBe(Math.min(last, 62));
        }),
      );
      expect(await lastEventWhere(log, 'feed-2', () => true)).toBeUndefined();
    });
  });

  test('is found by reading few events', async () => {
    await withLog(async (log) => {
      for (let from = 0; from < 5000; from += 500)
        await append(log, 'feed-1', from === 0 ? NO_STREAM : from - 1, 500);
      for (const last of [4999, 4990, 2500, 0]) {
        let looked = 0;
        await lastEventWhere(log, 'feed-1', ({ revision }) => (looked += 1) > 0 && revision <= last);
        expect(looked).toBeLessThan(30);
      }
    });
  });
});

describe('the last event up to a position', () => {
  test('belongs to the requested streams, and the search is bounded', async () => {
    await withLog(async (log) => {
      await append(log, 'feed-1', NO_STREAM, 2);
      const head = await log.head();
      await append(log, 'feed-1', 1, 1);
      await append(log, 'other-1', NO_STREAM, 500);
      expect(await lastEventUpTo(log, head, ['category-', 'feed-'])).toMatchObject({
        stream: 'feed-1',
        revision: 1,
      });
      expect(await lastEventUpTo(log, await log.head(), ['category-'])).toBeUndefined();
      for (let from = 500; from < 10_000; from += 500) await append(log, 'other-1', from - 1, 500);
      expect(await lastEventUpTo(log, await log.head(), ['feed-'])).toBeUndefined();
    });
  });
});
