import { type EventBatch } from '../../../src/kernel/event-log';
import { NO_STREAM } from '../../../src/kernel/event';
import { eventLogContract } from '../../contracts/event-log';
import { gather, idsOf, newEvent, newEvents, streamOf } from '../../contracts/event-log/events';
import { built } from '../../support/built';
import { logFolder, logFixture } from '../../support/log-folder';

const { openLog, joinLog } = built(
  'src/engines/embedded/log/open-log',
) as typeof import('../../../src/engines/embedded/log/open-log');

eventLogContract('SQLite with a log thread', () => logFixture(openLog, true));

test('joined threads append to the same log and are notified of each other at once', async () => {
  const { file, remove } = await logFolder();
  const { log, ticket } = await openLog(file, true);
  const joined = [joinLog(ticket()), joinLog(ticket())];
  const live = joined[0]!.subscribe({ after: await log.head() })[Symbol.asyncIterator]();
  await live.next();
  const next = live.next();
  const event = newEvent();
  await joined[1]!.append('feed-1', NO_STREAM, [event]);

  expect(idsOf(((await next).value as EventBatch).events)).toEqual([event.id]);
  await Promise.all(
    [log, ...joined].map((each, n) => each.append(`voucher-${n}`, NO_STREAM, newEvents(100))),
  );
  const { events } = await gather(log.readAll({ after: '0'.repeat(19) }));
  expect(events).toHaveLength(301);
  await expect(joined[0]!.append('feed-1', NO_STREAM, [newEvent()])).rejects.toMatchObject({
    name: 'RevisionConflict',
    actual: 0,
  });

  for (const each of joined) await each.close();
  expect(await streamOf(log, 'feed-1')).toHaveLength(1);
  await log.close();
  await remove();
});

test('what another process appends right before is found, whatever this one appends', async () => {
  const { file, remove } = await logFolder();
  const { log, ticket } = await openLog(file, true);
  const { log: other } = await openLog(file, false);
  const joined = joinLog(ticket());
  const live = joined.subscribe({ after: await log.head(), prefixes: ['feed-'] })[Symbol.asyncIterator]();
  await live.next();
  const found: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const event = newEvent();
    await other.append(`feed-${n}`, NO_STREAM, [event]);
    const { position } = await log.append(`voucher-${n}`, NO_STREAM, [newEvent()]);
    for (let reached = ''; reached < position;) {
      const { events, position: upTo } = (await live.next()).value as EventBatch;
      found.push(...idsOf(events));
      reached = upTo;
    }
    expect(found.at(-1)).toBe(event.id);
  }
  expect(found).toHaveLength(20);

  for (const each of [joined, other, log]) await each.close();
  await remove();
});

test('an append fails when the log thread has ended', async () => {
  const { file, remove } = await logFolder();
  const { log, ticket } = await openLog(file, true);
  const joined = joinLog(ticket());
  await joined.append('feed-1', NO_STREAM, [newEvent()]);
  await log.close();

  await expect(joined.append('feed-1', 0, [newEvent()])).rejects.toMatchObject({ name: 'EngineUnavailable' });
  await joined.close();
  await remove();
});
