import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openEngines, type Engines } from '../../src/engines/open';
import { toNewEvent } from '../../src/kernel/decider';
import { type RecordedEvent, START } from '../../src/kernel/event';
import { EVERYTHING } from '../../src/kernel/query';
import { targetOf } from '../../src/kernel/read-store';
import { FEED_ID, listed } from '../projector/sample-events';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { killedWhen } from '../support/killed';
import { removeFolder, runProgram, temporaryFolder } from '../support/server';
import { eventsOf } from '../support/temporary-log';
import { ownStore } from './server';

const PRODUCTS = 12_000;

describe('kill -9 over EventStoreDB and Elasticsearch loses nothing', () => {
  const store = ownStore();
  let folder: string;
  let esdb: EsdbServer;
  let other: EsdbServer;
  let engines: Engines;
  let environment: Readonly<Record<string, string>>;

  beforeAll(async () => {
    folder = await temporaryFolder();
    esdb = await startEsdbServer();
    other = await startEsdbServer();
    environment = { DATA_DIR: join(folder, 'data'), EVENT_LOG: esdb.url, READ_STORE: store.url };
    engines = await openEngines({
      ...{ dataDir: join(folder, 'own'), eventLog: esdb.url, readStore: store.url, threads: false },
    });
    const events = Array.from({ length: PRODUCTS }, (_, at) => toNewEvent(listed(`p${at}`), randomUUID()));
    for (let at = 0; at < events.length; at += 500)
      await engines.log.append(`feed-${FEED_ID}`, at - 1, events.slice(at, at + 500));
  });
  afterAll(async () => {
    await engines.close();
    await store.remove();
    await esdb.stop();
    await other.stop();
    await removeFolder(folder);
  });

  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram(args, environment);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    return stdout;
  };
  const generations = () => engines.store.generations('products');

  async function documents(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for await (const page of engines.store.scan({ collection: 'products' }, EVERYTHING))
      for (const { id, body } of page) found.set(id, body);
    return found;
  }

  test('in the middle of a rebuild: what is live stays complete, and the next one continues (decisions X128)', async () => {
    await run('rebuild', 'all', '--force');
    const before = await documents();
    expect(before.size).toBe(PRODUCTS);
    const liveOne = async () => (await generations()).find(({ state }) => state === 'live')?.number ?? 0;
    const former = await liveOne();
    let begun = 0;
    const isProjecting = async (): Promise<boolean> => {
      const building = (await generations()).find(({ state }) => state === 'building');
      begun = building?.number ?? 0;
      return building !== undefined && (await engines.store.checkpoint(targetOf(building))) > START;
    };
    expect(await killedWhen(['rebuild', 'products'], environment, isProjecting)).toBe('SIGKILL');
    expect(await liveOne()).toBe(former);
    expect(await documents()).toEqual(before);
    // The lease of the killed one ends by itself, after ten seconds.
    const lease = await engines.store.lease('rebuild', 'nobody', () => Date.now() + 60_000, 1);
    if (lease !== undefined) await engines.store.release(lease);
    await run('rebuild', 'products');
    expect(await liveOne()).toBe(begun);
    expect(await documents()).toEqual(before);
  });

  const own = (events: readonly RecordedEvent[]) =>
    events
      .filter(({ stream }) => stream !== 'operator-actions')
      .map(({ stream, revision, id, data }) => ({ stream, revision, id, data }));

  test('in the middle of a backup and of a restore (decisions X118)', async () => {
    const backup = join(folder, 'backup');
    const part = join(backup, 'log', 'events-000001.ndjson.gz.part');
    expect(await killedWhen(['backup', backup], environment, () => existsSync(part))).toBe('SIGKILL');
    expect(existsSync(join(backup, 'backup.json'))).toBe(false);
    await run('backup', backup);

    const there = { ...environment, DATA_DIR: join(folder, 'restored'), EVENT_LOG: other.url };
    const restored = await openEngines({
      ...{ dataDir: join(folder, 'read'), eventLog: other.url, readStore: 'sqlite:', threads: false },
    });
    const hasSome = async (): Promise<boolean> => (await restored.log.head()) > START;
    expect(await killedWhen(['restore', backup], there, hasSome)).toBe('SIGKILL');
    const unfinished = await runProgram(['log', 'stats'], there);
    expect([unfinished.code, unfinished.stderr]).toEqual([1, expect.stringContaining('has not finished')]);
    const again = await runProgram(['restore', backup], there);
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(/ [1-9]\d* of them restored earlier;/),
    ]);
    expect(own(await eventsOf(restored.log))).toEqual(own(await eventsOf(engines.log)));
    await restored.close();
  });
});
