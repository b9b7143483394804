import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { lastEventUpTo } from '../../src/projector/origin';
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

describe('the last event up to a position', () => {
  test('is of the streams asked for, and is not looked for without end', async () => {
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
