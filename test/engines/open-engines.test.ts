import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type EngineSettings, openEngines, UnknownEngine } from '../../src/engines/open';
import { NO_STREAM } from '../../src/kernel/event';
import { newEvent, streamOf } from '../contracts/event-log/events';
import { built, DIST } from '../support/built';

let folder: string;
let settings: EngineSettings;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-engines-'));
  settings = { dataDir: join(folder, 'a/b'), eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
});
afterEach(() => rm(folder, { recursive: true }));

test('the data folder is made, and what is in it is there the next time', async () => {
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
])('an engine that there is not is refused, its URL not told: %s', async (setting, wrong, accepted) => {
  await expect(openEngines({ ...settings, ...wrong })).rejects.toThrow(
    new UnknownEngine(`${setting} names an unknown engine; expected one of: ${accepted}`),
  );
});

test('a data folder that cannot be made is an error, in a pseudo file system too', async () => {
  await writeFile(join(folder, 'file'), '');
  for (const dataDir of [join(folder, 'file/data'), '/proc/affilog/data'])
    await expect(openEngines({ ...settings, dataDir })).rejects.toThrow(
      expect.objectContaining({
        name: 'EngineUnavailable',
        message: 'the data folder cannot be created',
      }) as Error,
    );
});

test('another thread opens the same engines by its ticket', async () => {
  const open = built('src/engines/open') as typeof import('../../src/engines/open');
  const engines = await open.openEngines({ ...settings, threads: true, readers: 1 });
  await engines.store.create({ name: 'products', version: 1, fields: {} });
  const ticket = engines.ticket();
  const event = newEvent();
  const thread = new Worker(join(__dirname, '../support/join-engines.cjs'), {
    workerData: { dist: DIST, ticket, event },
    transferList: [...ticket.ports],
  });
  const [said] = (await once(thread, 'message')) as unknown[];

  expect(said).toEqual({ revision: 0, position: await engines.log.head(), generations: 1 });
  expect(await streamOf(engines.log, 'feed-1')).toMatchObject([event]);
  await engines.close();
});
