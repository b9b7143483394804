import { randomUUID } from 'node:crypto';
import { appendFacts, type Fact } from '../../src/network/decider';
import { Directory } from '../../src/network/directory';
import { toNewEvent } from '../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';

const AT = '2026-03-01T12:00:00.000Z';
const mapped = (at: number, categoryId = '111'): Fact => ({
  category: 'mapping',
  id: 22,
  event: { type: 'CategoryMapped', data: { feedId: 22, name: `name ${at}`, categoryId, at: AT } },
});

describe('facts of one stream that need several appends', () => {
  const facts = Array.from({ length: 1_200 }, (_, at) => mapped(at));

  it('read the stream once', () =>
    withLog(async (log) => {
      const one = await appendFacts(SYSTEM_CLOCK, log, facts, new Directory());
      expect(one).toEqual({ events: 1_200, position: await log.head() });
      let read = 0;
      const counting = overrideLog(log, {
        async *readStream(...args) {
          for await (const batch of log.readStream(...args)) {
            read += batch.length;
            yield batch;
          }
        },
      });
      const others = facts.map((_, at) => mapped(at, '112'));
      expect((await appendFacts(SYSTEM_CLOCK, counting, others, new Directory())).events).toBe(1_200);
      expect(read).toBe(1_200);
    }));

  it('are appended once each, though another process appends some of them meanwhile', () =>
    withLog(async (log) => {
      let appends = 0;
      const contested = overrideLog(log, {
        append: async (stream, expected, events) => {
          appends += 1;
          if (appends === 2) {
            const { event } = mapped(600);
            await log.append(stream, expected, [toNewEvent(event, randomUUID())]);
          }
          return await log.append(stream, expected, events);
        },
      });
      expect((await appendFacts(SYSTEM_CLOCK, contested, facts, new Directory())).events).toBe(1_199);
      const stored = await eventsOf(log);
      expect(new Set(stored.map(({ data }) => data)).size).toBe(1_200);
      expect(stored).toHaveLength(1_200);
    }));
});
