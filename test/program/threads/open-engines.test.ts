import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type EngineSettings, openEngines, UnknownEngine } from '../../../src/engines/open';
import { NO_STREAM } from '../../../src/kernel/event';
import { newEvent, streamOf } from '../../contracts/event-log/events';
import { built, DIST } from '../../support/built';
import { startEsdbServer } from '../../support/esdb-server';

let folder: string;
let settings: EngineSettings;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-engines-'));
  settings = { dataDir: join(folder, 'a/b'), eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
});
afterEach(() => rm(folder, { recursive: true }));

test('the data folder is created, and reopening finds its contents', async () => {
  const first = await openEngines(settings);
  const event = newEvent();
  await first.log.append('feed-1', NO_STREAM, [event]);
  await first.store.create({ name: 'products', version: 1, fields: {} });
  await first.close();

  const second = await openEngines(settings);
  expect(await streamOf(second.log, 'feed-1')).toMatchObject([event]);
  expect(await second.store.generations('products')).toMatchObject([{ version: 1, state: 'building' }]);
  await second.close();
});

test.each([
  ['EVENT_LOG', { eventLog: 'redis://localhost' }, 'sqlite:, esdb://…'],
  ['READ_STORE', { readStore: 'sqlite' }, 'sqlite:, http://…, https://…'],
])('an unknown engine is refused, without its URL in the message: %s', async (setting, wrong, accepted) => {
  await expect(openEngines({ ...settings, ...wrong })).rejects.toThrow(
    new UnknownEngine(`${setting} names an unknown engine; expected one of: ${accepted}`),
  );
});

test('a server is not waited for after the signal has aborted, also while the data folder was checked (decisions X98)', async () => {
  const server = await startEsdbServer();
  const signal = AbortSignal.abort(new Error('stopped'));
  const opening = openEngines({ ...settings, eventLog: server.url }, undefined, signal);
  await expect(opening).rejects.toThrow('stopped');
  await server.stop();
});

test('a data folder that cannot be created is an error, even in a pseudo file system', async () => {
  await writeFile(join(folder, 'file'), '');
  for (const dataDir of [join(folder, 'file/data'), '/proc/affilog/data'])
    await expect(openEngines({ ...settings, dataDir })).rejects.toThrow(
      expect.objectContaining({
        name: 'EngineUnavailable',
        message: 'the data folder cannot be created',
      }) as Error,
    );
});

test('another thread opens the same engines with a ticket', async () => {
  const open = built('src/engines/open') as typeof import('../../../src/engines/open');
  const engines = await open.openEngines({ ...settings, threads: true, readers: 1 });
  await engines.store.create({ name: 'products', version: 1, fields: {} });
  const ticket = engines.ticket();
  const event = newEvent();
  const thread = new Worker(join(__dirname, '../../support/join-engines.cjs'), {
    workerData: { dist: DIST, ticket, event },
    transferList: [...ticket.ports],
  });
  const [said] = (await once(thread, 'message')) as unknown[];

  expect(said).toEqual({ revision: 0, position: await engines.log.head(), generations: 1 });
  expect(await streamOf(engines.log, 'feed-1')).toMatchObject([event]);
  await engines.close();
});

test('the log of deliveries is a file of its own that is created when it is first needed, also in another thread', async () => {
  const open = built('src/engines/open') as typeof import('../../../src/engines/open');
  const engines = await open.openEngines({ ...settings, threads: true, readers: 1 });
  const files = async (): Promise<readonly string[]> => await readdir(settings.dataDir);
  expect(await files()).not.toContain('deliveries.sqlite');
  expect(engines.ticket().deliveries).toBeUndefined();

  const deliveries = await engines.deliveries();
  expect(await engines.deliveries()).toBe(deliveries);
  expect(await files()).toContain('deliveries.sqlite');
  const events = [newEvent(), newEvent()];
  const ticket = engines.ticket();
  const joined = await open.joinEngines(ticket);
  await deliveries.append('matched', NO_STREAM, events.slice(0, 1));
  await (await joined.deliveries()).append('matched', 0, events.slice(1));

  expect(ticket.ports).toHaveLength(2);
  expect(await streamOf(deliveries, 'matched')).toMatchObject(events);
  expect(await streamOf(engines.log, 'matched')).toEqual([]);
  await deliveries.expire(new Date(Date.now() + 1), ['matched']);
  expect(await streamOf(await joined.deliveries(), 'matched')).toMatchObject(events.slice(1));
  await joined.close();
  await engines.close();
});
