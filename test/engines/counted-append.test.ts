import { countedAppend } from '../../src/engines/validation';
import { NO_STREAM } from '../../src/kernel/event';
import { StreamDeleted } from '../../src/kernel/event-log';
import { APPEND_SECONDS, APPENDED_EVENTS, APPENDS, COMMIT_APPENDS } from '../../src/runtime/metrics';
import { newEvents } from '../contracts/event-log/events';
import { growthOf } from '../support/metrics';
import { withLog } from '../support/temporary-log';

test('appends are counted by result, with the time until they are durable (decisions X120)', async () => {
  const [appends, events] = [growthOf(APPENDS), growthOf(APPENDED_EVENTS)];
  const [times, commits] = [growthOf(APPEND_SECONDS), growthOf(COMMIT_APPENDS)];
  await withLog(async (log) => {
    await log.append('tried-1', NO_STREAM, newEvents(3));
    await log.append('tried-2', NO_STREAM, newEvents(2));
    await expect(log.append('tried-1', 7, newEvents(1))).rejects.toMatchObject({ name: 'RevisionConflict' });
    await log.close();
    await expect(log.append('tried-1', 2, newEvents(1))).rejects.toMatchObject({ name: 'EngineUnavailable' });
  });
  // Of what the log itself accepts, only EventStoreDB refuses something.
  const deleted = countedAppend('leases', 1, () => Promise.reject(new StreamDeleted('tried-1')));
  await expect(deleted).rejects.toBeInstanceOf(StreamDeleted);
  expect(appends()).toEqual({
    'events ok': 2,
    'events conflict': 1,
    'events unavailable': 1,
    'leases refused': 1,
  });
  expect([events(), times()]).toEqual([{ events: 5 }, { events: 4, leases: 1 }]);
  expect(commits()['events']).toBeGreaterThan(0);
});
