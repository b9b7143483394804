import { stat } from 'node:fs/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { openDeliveryLog, openLog } from '../../../src/engines/embedded/log/open-log';
import {
  openEventStoreDb,
  openEventStoreDeliveries,
} from '../../../src/engines/eventstoredb/open-event-store-db';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { fill, gather, idsOf, newEvent, newEvents, streamOf } from '../../contracts/event-log/events';
import { type ExpiringFixture, expiringLogContract } from '../../contracts/expiring-log';
import { startEsdbServer } from '../../support/esdb-server';
import { logFolder, type LogFolder } from '../../support/log-folder';
import { FULL_SIZE } from '../../support/size';

expiringLogContract('Deliveries in SQLite in this thread', async (): Promise<ExpiringFixture> => {
  const { file, remove } = await logFolder();
  let { log } = await openDeliveryLog(file, false);
  return {
    log,
    forgetsAtOnce: true,
    reopen: async () => {
      await log.close();
      return ({ log } = await openDeliveryLog(file, false)).log;
    },
    close: async () => {
      await log.close();
      await remove();
    },
  };
});

// The rest is as in the log of the domain, which `contract.test.ts` tests.
expiringLogContract(
  'Deliveries in EventStoreDB at its most awkward',
  async (): Promise<ExpiringFixture> => {
    const server = await startEsdbServer('awkward');
    let log = await openEventStoreDeliveries(server.url);
    return {
      log,
      forgetsAtOnce: false,
      reopen: async () => {
        await log.close();
        return (log = await openEventStoreDeliveries(server.url));
      },
      close: async () => {
        await log.close();
        await server.stop();
      },
    };
  },
  FULL_SIZE ? undefined : ['appends', 'reads backwards', 'finds streams'],
);

test('the logs of the domain and of deliveries in one EventStoreDB never show the events of the other', async () => {
  const server = await startEsdbServer();
  const [domain, deliveries] = [
    await openEventStoreDb(server.url),
    await openEventStoreDeliveries(server.url),
  ];
  const [own, other] = [newEvents(3), newEvents(2)];
  await domain.append('matched', NO_STREAM, own);
  const { position } = await deliveries.append('matched', NO_STREAM, other);

  for (const [log, events] of [
    [domain, own],
    [deliveries, other],
  ] as const) {
    expect(idsOf(await streamOf(log, 'matched'))).toEqual(idsOf(events));
    expect(idsOf((await gather(log.readAll({ after: START }))).events)).toEqual(idsOf(events));
    expect(idsOf((await gather(log.readAll({ after: START, prefixes: ['', 'm'] }))).events)).toEqual(
      idsOf(events),
    );
    const followed = await gather(log.subscribe({ after: START }), (_, { caughtUp }) => caughtUp);
    expect(idsOf(followed.events)).toEqual(idsOf(events));
    const backwards: string[] = [];
    for await (const batch of log.readAllBackwards()) backwards.push(...idsOf(batch));
    expect(backwards).toEqual(idsOf(events.toReversed()));
    expect(await log.head()).toBe(followed.position);
  }
  expect((await domain.head()) < position).toBe(true);
  expect(await streamOf(domain, 'deliveries.matched')).toEqual([]);
  await expect(domain.append('deliveries.matched', 1, [newEvent()])).rejects.toMatchObject({
    name: 'UnacceptableAppend',
  });
  await domain.close();
  await deliveries.close();
  await server.stop();
});

describe('in SQLite', () => {
  let temporary: LogFolder;
  beforeEach(async () => {
    temporary = await logFolder();
  });
  afterEach(() => temporary.remove());

  test('the file shrinks to what is left, and appends and reads take place meanwhile', async () => {
    const { log } = await openDeliveryLog(temporary.file, false);
    const filler = 'x'.repeat(10_000);
    for (let n = 0; n < 40; n += 1)
      await log.append(
        'matched',
        n * 50 - 1,
        Array.from({ length: 50 }, () => newEvent({ filler })),
      );
    const before = (await stat(temporary.file)).size;

    const expiring = { isOver: false };
    const expired = log.expire(new Date(Date.now() + 1), ['matched']).finally(() => (expiring.isOver = true));
    let appended = 0;
    while (!expiring.isOver) {
      await log.append('partition-00', appended - 1, [newEvent()]);
      appended += 1;
      expect((await streamOf(log, 'matched')).at(-1)?.revision).toBe(1_999);
    }
    await expired;

    expect(before).toBeGreaterThan(15_000_000);
    expect((await stat(temporary.file)).size).toBeLessThan(1_000_000);
    expect((await stat(`${temporary.file}-wal`)).size).toBeLessThan(1_000_000);
    expect(appended).toBeGreaterThan(3);
    expect(await streamOf(log, 'partition-00')).toHaveLength(appended);
    await log.close();
  });

  test('expired events are no damage, but missing ones after them are', async () => {
    const { log } = await openDeliveryLog(temporary.file, false);
    await fill(log, 'matched', 10);
    await log.expire(new Date(Date.now() + 1), ['matched']);
    for (let n = 0; n < 3; n += 1) await log.append('matched', 9 + n, [newEvent()]);
    expect((await gather(log.readAll({ after: START }))).events).toHaveLength(4);
    const database = new DatabaseSync(temporary.file);
    database.exec('DELETE FROM appends WHERE revision = 11');
    database.close();

    await expect(gather(log.readAll({ after: START }))).rejects.toThrow('the event log is damaged');
    await log.close();
  });

  test('a file of the other kind is refused', async () => {
    const { log } = await openDeliveryLog(temporary.file, false);
    await log.close();
    await expect(openLog(temporary.file, false)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('it is a log of another kind') as string,
    });
  });
});
