import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { FollowedDirectory } from '../../src/network/follower';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { type Engines, openEngines } from '../../src/engines/open';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { Parking } from '../../src/runtime/parked-events';
import { type ReadStore } from '../../src/kernel/read-store';
import { atMostEvery, diskTrouble, readinessOf } from '../../src/app/readiness';
import { type ProductLoader } from '../../src/services/products/load/load-feed';
import { pauseReadModels, resumeReadModels } from '../../src/operations/projections';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from '../api/network';
import { TestApp } from '../support/app';
import { overrideLog } from '../support/temporary-log';
import { startEsdbServer } from '../support/esdb-server';
import { type Fault, FaultyElasticsearch } from '../support/faulty-elasticsearch';

const HEALTHY = { status: 'ok', parked: 0, behind: 0, unexpectedFailures: 0 };
const SHORT_TIMEOUTS = { retryMs: { read: 0 }, timeoutMs: 200 };

/** Lets pending work run as far as it can. */
async function runPending(): Promise<void> {
  for (let left = 50; left > 0; left -= 1) await nextTick();
}

/** A store whose `holder` waits for a promise. */
function withSlowHolder(store: ReadStore, until: Promise<unknown>): ReadStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        if (name === 'holder') await until;
        return await Reflect.apply(value, target, args);
      };
    },
  });
}

describe('health (docs/operations.md, Health)', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await TestApp.start({ network: NETWORK, paused: true });
  });
  afterEach(() => app.close());

  it('is live while the process responds', async () => {
    const answer = await app.get('/health/live');
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('is not ready, with the reason, until the read models have caught up with the log as of the start', async () => {
    const waiting = await app.get('/health/ready');
    expect([waiting.statusCode, waiting.headers['retry-after']]).toEqual([503, '1']);
    expect(waiting.json()).toEqual({
      status: 'waiting',
      parked: 0,
      unexpectedFailures: 0,
      waiting: { readModels: 'are catching up with the log' },
    });
    const why = await app.get(`/ops/1.0/why/product;fid=${FEEDS.german};spId=a`, {
      token: OTHER_TOKENS.operator,
    });
    expect(why.json()).toEqual({
      visible: false,
      conditions: [
        {
          ...{ condition: 'projected', holds: false },
          found: expect.stringMatching(
            /^the read model products is failed, it cannot be read; the log ends at \d+$/,
          ),
          remedy: 'no process with the role projector runs: start `affilog serve`',
        },
      ],
    });
    await app.project();
    const ready = await app.get('/health/ready');
    expect([ready.statusCode, ready.json()]).toEqual([200, HEALTHY]);
  });

  it('is ready but degraded while read models are paused, and says which, since when (decisions X145)', async () => {
    await app.project();
    await pauseReadModels(app.engines, ['products', 'vouchers'], SYSTEM_CLOCK, 'user alice');
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    const ready = await app.get('/health/ready');
    expect([ready.statusCode, ready.json()]).toEqual([
      200,
      {
        ...{ ...HEALTHY, status: 'degraded', behind: expect.any(Number) },
        paused: expect.stringMatching(
          /^products since \S+Z, vouchers since \S+Z: `affilog projections resume products vouchers` continues them$/,
        ),
      },
    ]);
    await resumeReadModels(app.engines, ['all']);
    await app.settled();
    expect((await app.get('/health/ready')).json()).toEqual(HEALTHY);
  });

  it('stays ready while a later load is being projected', async () => {
    await app.project();
    expect((await app.get('/health/ready')).statusCode).toBe(200);
    const readiness = await readinessOf(app.engines, app.follower);
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    expect((await app.get('/health/ready')).json()).toEqual(HEALTHY);
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 0 });
  });

  it('counts events that the matcher and the directory cannot use as parked (decisions X103)', async () => {
    await app.project();
    const { log } = app.engines;
    const unusable = toNewEvent({ type: 'ProgramDefined', data: {} }, randomUUID());
    const { position } = await log.append('program-777', NO_STREAM, [unusable]);
    await app.follower.reached(position);
    await app.settled();
    const event = { ...unusable, stream: 'program-777', revision: 0, position };
    await new Parking(SYSTEM_CLOCK, log, 'matcher', 'a').park(event, {
      error: 'e',
      at: new Date().toISOString(),
    });
    await app.settled();
    const answer = await app.get('/health/ready');
    expect([answer.statusCode, answer.json()]).toEqual([200, { ...HEALTHY, parked: 2 }]);
  });

  it('waits for the directory', async () => {
    const stopped = new FollowedDirectory(SYSTEM_CLOCK, app.engines.log, AbortSignal.abort());
    const readiness = await readinessOf(app.engines, stopped);
    expect(await readiness()).toMatchObject({ waiting: { directory: 'is catching up with the log' } });
  });

  it('names the engine that is unavailable', async () => {
    const readiness = await readinessOf(app.engines, app.follower);
    await app.engines.close();
    expect(await readiness()).toEqual({
      waiting: { log: 'the event log is closed', readModels: 'the read store is closed' },
    });
  });

  it('reports how long the read models have been behind, and why projector and automation make no progress', async () => {
    await app.project();
    const reason = 'the read store is not available: the disk is full';
    let time = 0;
    const parts = {
      troubles: { projector: async () => reason, automation: async () => 'the same' },
      now: () => time,
    };
    const readiness = await readinessOf(app.engines, app.follower, parts);
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    expect(await readiness()).toEqual({
      waiting: {},
      parked: 0,
      behind: 0,
      projector: reason,
      automation: 'the same',
    });
    time = 42_000;
    expect(await readiness()).toEqual({
      waiting: {},
      parked: 0,
      behind: 42,
      projector: reason,
      automation: 'the same',
    });
  });

  it('counts from the first event that the read models lack when it is first asked, however far behind they are', async () => {
    await app.project();
    const day = 86_400_000;
    let time = 0;
    const wall = () => Date.now() + time;
    const readiness = await readinessOf(app.engines, app.follower, { now: () => time, wall });
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    time = day;
    const { behind = 0 } = await readiness();
    expect(Math.round(behind / 10)).toBe(day / 10_000);
    time += 7_000;
    expect(await readiness()).toMatchObject({ behind: behind + 7 });
  });

  it('leaves out for how long the read models have been behind while it is not known', async () => {
    const readiness = await readinessOf(app.engines, app.follower);
    await app.project();
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    const untimed = overrideLog(app.engines.log, {
      readAll: async function* () {
        yield* [];
      },
    });
    const unknown = await readinessOf({ ...app.engines, log: untimed }, app.follower);
    expect(await unknown()).not.toHaveProperty('behind');
    expect(await unknown()).not.toHaveProperty('behind');
    expect(await readiness()).toHaveProperty('behind');
  });

  it('looks at most once in its interval, for whoever asks meanwhile (decisions X97)', async () => {
    let time = 0;
    let looks = 0;
    const gate = new EventEmitter();
    const readiness = atMostEvery(
      1_000,
      async () => {
        looks += 1;
        await once(gate, 'open');
        return { waiting: {}, behind: looks };
      },
      () => time,
    );
    const together = Array.from({ length: 100 }, () => readiness());
    time = 2_000;
    const later = readiness();
    gate.emit('open');
    expect(new Set((await Promise.all([...together, later])).map(({ behind }) => behind))).toEqual(
      new Set([1]),
    );
    time = 2_999;
    expect((await readiness()).behind).toBe(1);
    time = 3_000;
    const again = readiness();
    gate.emit('open');
    expect((await again).behind).toBe(2);
  });

  it('writes little to find out whether the data folder can be written, and names one that was removed (decisions X97)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'affilog-probe-'));
    const written = (): number => Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const before = written();
    for (let probe = 0; probe < 20; probe += 1) expect(await diskTrouble(folder)).toBeUndefined();
    expect(written() - before).toBeLessThan(1024 * 1024);
    await rm(folder, { recursive: true });
    expect(await diskTrouble(folder)).toBe('the data folder cannot be written: it was removed');
  });

  it('is not ready when the read models are ahead of a replaced log (decisions X31)', async () => {
    await app.project();
    const before = await app.engines.log.head();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    await app.settled();
    const log = overrideLog(app.engines.log, { head: async () => before });
    const readiness = await readinessOf({ ...app.engines, log }, app.follower);
    expect(await readiness()).toMatchObject({
      waiting: { readModels: expect.stringContaining('affilog rebuild all --force') },
    });
  });

  it('is not ready when read models have been behind for a minute without a projector', async () => {
    await app.project();
    let time = 0;
    const { store } = app.engines;
    const readiness = await readinessOf(app.engines, app.follower, { now: () => time });
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 0 });
    time = 60_000;
    // A lease of a process whose clock is an hour ahead, or was before it was set back.
    await store.lease('projector', 'gone', () => Date.now() + 3_600_000, 3_000);
    expect(await readiness()).toMatchObject({
      waiting: {
        readModels: 'are stale: they have been behind the log for 60 s, and no projector is running',
      },
      behind: 60,
    });
    await store.lease('projector', 'another', Date.now, 60_000);
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 60 });
  });

  it('stays ready for a minute after the projector is lost, so that another can take over', async () => {
    await app.project();
    let time = 0;
    const { store } = app.engines;
    const readiness = await readinessOf(app.engines, app.follower, { now: () => time });
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    const lease = await store.lease('projector', 'another', Date.now, 60_000);
    await readiness();
    time = 60_000;
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 60 });
    await store.release(lease!);
    time = 200_000;
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 200 });
    time = 259_000;
    expect(await readiness()).toEqual({ waiting: {}, parked: 0, behind: 259 });
    time = 260_000;
    expect(await readiness()).toMatchObject({ waiting: { readModels: expect.stringContaining('stale') } });
  });

  it('is ready when the head was read before the read models but arrives after them', async () => {
    await app.project();
    const before = await app.engines.log.head();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    await app.settled();
    const gates = new EventEmitter();
    const [modelsRead, headRead] = [once(gates, 'models'), once(gates, 'head')];
    let calls = 0;
    const log = overrideLog(app.engines.log, {
      async head() {
        const call = (calls += 1);
        if (call === 3) await headRead;
        // The second and third call return the head before the import.
        return call === 2 || call === 3 ? before : await app.engines.log.head();
      },
    });
    const store = withSlowHolder(app.engines.store, modelsRead);
    const readiness = await readinessOf({ ...app.engines, log, store }, app.follower);
    const first = readiness();
    await runPending();
    const second = readiness();
    await runPending();
    gates.emit('models');
    await runPending();
    gates.emit('head');
    expect([await first, await second].map(({ waiting }) => waiting)).toEqual([{}, {}]);
    expect(calls).toBeGreaterThan(3);
  });

  it('counts requests that fail because of a bug (decisions A12)', async () => {
    const fails = async () => Promise.reject(new TypeError('a bug'));
    const loader: ProductLoader = {
      open: fails,
      write: fails,
      finish: fails,
      abort: fails,
      remove: fails,
      close: fails,
    };
    const http = await app.again({ loader, readiness: async () => ({ waiting: {} }) });
    const url = `/1.0/products;fid=${FEEDS.german};spId=a?token=${TOKENS.nord}`;
    const answer = await http.inject({ method: 'DELETE', url });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { errors: [{ code: 'PF_230' }] }]);
    expect((await http.inject('/health/ready')).json()).toEqual({ status: 'ok', unexpectedFailures: 1 });
    await http.close();
  });
});

describe('an unavailable engine', () => {
  let engines: Engines;
  let follower: FollowedDirectory;
  let end: () => Promise<unknown>;
  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'affilog-health-'));
    engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
    const ending = new AbortController();
    follower = new FollowedDirectory(SYSTEM_CLOCK, engines.log, ending.signal);
    end = async () => {
      ending.abort();
      await follower.ended;
      await engines.close();
      await rm(dataDir, { recursive: true });
    };
  });
  afterAll(() => end());

  it.each<[reason: string, fault: Fault | 'stopped']>([
    ['it is overloaded', { status: 429 }],
    ['access is denied (403)', { status: 403, error: 'security_exception' }],
    ['it has failed (500 io_exception)', { status: 500, error: 'io_exception' }],
    ['it does not answer in time', 'silence'],
    ['it cannot be reached (ECONNREFUSED)', 'stopped'],
  ])('is reported with the kind of failure only: a read store of which %s', async (reason, fault) => {
    const server = await FaultyElasticsearch.start();
    const store = openElasticsearch(server.url.replace('//', '//somebody:secret@'), SHORT_TIMEOUTS);
    const readiness = await readinessOf({ ...engines, store }, follower);
    if (fault === 'stopped') await server.stop();
    else server.fault = () => fault;
    expect(await readiness()).toEqual({
      waiting: { readModels: `the read store is not available: ${reason}` },
    });
    await store.close();
    await server.stop();
  });

  it('is not ready, with the reason, while an EventStoreDB may be read but refuses appends (decisions X97)', async () => {
    const server = await startEsdbServer('read-only');
    const log = await openEventStoreDb(server.url, { timeoutMs: 2_500, retryMs: 2_500 });
    const readiness = await readinessOf({ ...engines, log }, follower);
    expect((await readiness()).waiting.log).toMatch(/^the event log is not available: access is denied: /);
    await log.close();
    await server.stop();
  });

  it('appends nothing to find out that it may', async () => {
    const before = await engines.log.head();
    const readiness = await readinessOf(engines, follower);
    expect((await readiness()).waiting).not.toHaveProperty('log');
    expect(await engines.log.head()).toBe(before);
    const server = await startEsdbServer();
    const log = await openEventStoreDb(server.url, { timeoutMs: 2_500, retryMs: 2_500 });
    const head = await log.head();
    const overServer = await readinessOf({ ...engines, log }, follower);
    expect((await overServer()).waiting).not.toHaveProperty('log');
    expect(await log.head()).toBe(head);
    await log.close();
    await server.stop();
  });

  it('is reported within seconds, then with the reason: an EventStoreDB that is down', async () => {
    const server = await startEsdbServer();
    const log = await openEventStoreDb(server.url, { timeoutMs: 2_500, retryMs: 2_500 });
    const readiness = await readinessOf({ ...engines, log }, follower);
    await server.kill();
    const start = performance.now();
    const reported = async () => (await readiness()).waiting.log;
    expect(await reported()).toBe('the event log is not available: it does not answer in time');
    // By then it has been tried once, which takes 2.5 s, but not again and again.
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(await reported()).toBe('the event log is not available: it cannot be reached (ECONNREFUSED)');
    await log.close();
    await server.stop();
  });
});
