import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientReadableStream } from '@grpc/grpc-js';
import { type ReadAnswer } from '../../../src/engines/eventstoredb/protocol';
import { Connection } from '../../../src/engines/eventstoredb/connection';
import { Namespace } from '../../../src/engines/eventstoredb/sent-event';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { followRequest } from '../../../src/engines/eventstoredb/requests';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { idsOf, newEvents, streamOf } from '../../contracts/event-log/events';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { FakeCluster } from '../../support/esdb-cluster';
import { startFaultyProxy } from '../../support/faulty-proxy';
import { TlsFront } from '../../support/tls-front';

describe('A cluster that has lost its majority (decisions X96)', () => {
  let server: EsdbServer;
  let cluster: FakeCluster;
  let url: string;

  beforeAll(async () => {
    server = await startEsdbServer();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    cluster = await FakeCluster.start(server.port);
    url = `esdb://${cluster.hosts}?tls=false&maxDiscoverAttempts=2&discoveryInterval=50`;
  });
  afterEach(() => cluster.stop());

  async function follow(connection: Connection): Promise<ClientReadableStream<ReadAnswer>> {
    const reading = await connection.read(followRequest(START, Namespace.domain.expression(undefined)));
    await once(reading, 'readable');
    return reading;
  }

  test('fails calls, and nothing else: one fails while another looks for a node', async () => {
    const connection = new Connection(url);
    const [first, second] = [await follow(connection), await follow(connection)];
    cluster.loseMajority();
    const failed = once(first, 'error');
    cluster.endCall();
    await failed;
    const looking = follow(connection);
    cluster.endCall();
    await once(second, 'error');
    // The runner fails a test that leaves a rejected promise behind.
    await expect(looking).rejects.toThrow(/discover/);

    await cluster.regainMajority();
    (await follow(connection)).cancel();
    connection.close();
  });

  test('is asked for its version again after it could not be found', async () => {
    const connection = new Connection(url);
    cluster.loseMajority();
    await expect(connection.version()).rejects.toThrow(/discover/);
    await cluster.regainMajority();
    expect(await connection.version()).toMatch(/^\d+\.\d+/);
    connection.close();
  });

  test('delays an append no longer than failures are retried, and the log continues afterwards', async () => {
    const slow = url.replace(/Attempts=\d+&discoveryInterval=\d+/, 'Attempts=1000&discoveryInterval=1000');
    const log = await openEventStoreDb(slow, { timeoutMs: 500, retryMs: 2_000 });
    const stream = `tried${randomUUID().slice(0, 8)}-1`;
    const events = newEvents(2);
    await log.append(stream, NO_STREAM, events.slice(0, 1));
    cluster.loseMajority();
    while (cluster.calls > 0) cluster.endCall();
    const since = performance.now();
    await expect(log.append(stream, 0, events.slice(1))).rejects.toMatchObject({ name: 'EngineUnavailable' });
    // A thousand attempts would take a thousand seconds.
    expect(performance.now() - since).toBeLessThan(60_000);

    await cluster.regainMajority();
    await log.append(stream, 0, events.slice(1));
    expect(idsOf(await streamOf(log, stream))).toEqual(idsOf(events));
    await log.close();
  });
});

describe('A cluster with a server whose certificate has expired (decisions X96)', () => {
  const EXPIRED = 'its certificate expired on 2021-03-04T05:06:07Z: renew it';
  let folder: string;
  let server: EsdbServer;
  let cluster: FakeCluster;
  let good: TlsFront;
  let expired: TlsFront;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'affilog-'));
    server = await startEsdbServer();
    cluster = await FakeCluster.start(server.port);
    good = await cluster.overTls(folder);
    const follower = Number(/:(\d+)$/.exec(cluster.hosts)?.[1]);
    expired = await TlsFront.start(follower, folder, { until: '20210304050607Z' });
  });
  afterAll(async () => {
    for (const front of [good, expired]) await front.stop();
    cluster.stop();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const urlOf = (ports: readonly number[], attempts: number, trusted = good): string =>
    `esdb://${ports.map((port) => `127.0.0.1:${port}`).join(',')}?tlsCAFile=${trusted.certificate}&maxDiscoverAttempts=${attempts}&discoveryInterval=20`;

  test('is used by way of the others, whichever is asked first', async () => {
    // Each connection asks in an order of its own.
    for (let turn = 0; turn < 12; turn += 1) {
      const connection = new Connection(urlOf([good.port, expired.port], 1));
      expect(await connection.version()).toMatch(/^\d+\.\d+/);
      connection.close();
    }
  });

  test('is reported at once if that is so of all of them', async () => {
    const url = urlOf([expired.port, expired.port], 1_000_000, expired);
    await expect(openEventStoreDb(url)).rejects.toMatchObject({
      message: `the event log is not available: ${EXPIRED}`,
    });
  });

  test('is waited for while the others are down; the message names the certificate', async () => {
    const proxy = await startFaultyProxy(good.port);
    proxy.faults.good = 0;
    const ports = [expired.port, proxy.port];
    const trusted = expired;
    const down = openEventStoreDb(urlOf(ports, 2, trusted), { timeoutMs: 5_000, retryMs: 100 });
    await expect(down).rejects.toMatchObject({
      message: expect.stringContaining(`; of one that cannot be used: ${EXPIRED}`),
    });

    const failures: string[] = [];
    const opened = openEventStoreDb(urlOf(ports, 2), { timeoutMs: 5_000, retryMs: 600_000 }, (failure) => {
      failures.push(failure);
      proxy.faults.good = Infinity;
    });
    await (await opened).close();
    expect(failures).not.toEqual([]);
    await proxy.close();
  });
});
