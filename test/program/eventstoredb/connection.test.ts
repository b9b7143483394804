import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { Readers } from '../../../src/engines/eventstoredb/stream-reads';
import { Namespace } from '../../../src/engines/eventstoredb/sent-event';
import { followRequest } from '../../../src/engines/eventstoredb/requests';
import { NO_STREAM } from '../../../src/kernel/event';
import { gather, idsOf, newEvents, streamOf } from '../../contracts/event-log/events';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { startFaultyProxy } from '../../support/faulty-proxy';

const HASTY = { timeoutMs: 1_000, retryMs: 20_000 };

let server: EsdbServer;
let stream: string;

beforeAll(async () => {
  server = await startEsdbServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  stream = `tried${randomUUID().slice(0, 8)}-1`;
});

test('the head is found without reading system events twice', async () => {
  const proxy = await startFaultyProxy(server.port);
  const log = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, HASTY);
  const { position } = await log.append(stream, NO_STREAM, newEvents(1));
  const client = EventStoreDBClient.connectionString(server.url);
  const statistics = (): Parameters<typeof client.appendToStream>[1] =>
    Array.from({ length: 400 }, () =>
      jsonEvent({ type: '$statsCollected', data: { text: 'x'.repeat(2_000) } }),
    );
  for (let n = 0; n < 3; n += 1) await client.appendToStream('$stats-127.0.0.1:2113', statistics());
  await client.dispose();
  expect(await log.head()).toBe(position);
  const before = proxy.seen.bytes;
  expect(await log.head()).toBe(position);
  expect(proxy.seen.bytes - before).toBeLessThan(10_000);

  const next = await log.append(stream, 0, newEvents(1));
  expect(await log.head()).toBe(next.position);
  await log.close();
  await proxy.close();
});

test('a follower forwards reads to the leader, since it may lag behind', async () => {
  const follower = new Server();
  follower.addService(StreamsService, {
    read: (call: {
      readonly metadata: Metadata;
      emit(event: 'error', error: unknown): void;
      end(): void;
    }) => {
      const notLeader = new Metadata();
      notLeader.set('exception', 'not-leader');
      notLeader.set('leader-endpoint-host', '127.0.0.1');
      notLeader.set('leader-endpoint-port', String(server.port));
      if (call.metadata.get('requires-leader').length === 0) call.end();
      else call.emit('error', { code: status.NOT_FOUND, metadata: notLeader });
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    follower.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const leader = await openEventStoreDb(server.url, HASTY);
  const events = newEvents(2);
  const { position } = await leader.append(stream, NO_STREAM, events);
  const log = await openEventStoreDb(`esdb://127.0.0.1:${port}?tls=false`, HASTY);

  expect(await log.head()).toBe(position);
  expect(idsOf(await streamOf(log, stream))).toEqual(idsOf(events));
  await Promise.all([leader.close(), log.close()]);
  follower.forceShutdown();
});

test('a cluster is found again after discovery failed for a while', async () => {
  const url = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=1&discoveryInterval=10`;
  const log = await openEventStoreDb(url, { timeoutMs: 500, retryMs: 300 });
  await log.append(stream, NO_STREAM, newEvents(1));
  await server.kill();
  for (let n = 0; n < 2; n += 1) {
    await expect(log.head()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    await expect(log.append(stream, 0, newEvents(1))).rejects.toMatchObject({ name: 'EngineUnavailable' });
  }
  await server.start();

  expect(await log.append(stream, 0, newEvents(1))).toMatchObject({ revision: 1 });
  expect(await streamOf(log, stream)).toHaveLength(2);
  await log.close();
});

test('a connection that reads have replaced still serves the calls in progress', async () => {
  const log = await openEventStoreDb(server.url, HASTY);
  const { position } = await log.append(stream, NO_STREAM, newEvents(1));
  const readers = new Readers(server.url, HASTY.timeoutMs);
  const ending = new AbortController();
  const underWay = readers.read(
    followRequest(position, Namespace.domain.expression([stream])),
    ending.signal,
  );
  expect(await underWay.next()).toBe('more');
  readers.renew(performance.now());

  const [event] = newEvents(1);
  await log.append(stream, 0, [event!]);
  for (let id = ''; id !== event!.id;) {
    expect(await underWay.next()).toBe('more');
    id = underWay.take()?.event?.id ?? '';
  }
  ending.abort();
  readers.close();
  await log.close();
});

test('a subscription works over a cluster found by gossip', async () => {
  const log = await openEventStoreDb(`esdb://127.0.0.1:${server.port},127.0.0.1:9?tls=false`, HASTY);
  const after = await log.head();
  const followed = gather(log.subscribe({ after, prefixes: [stream] }), ({ length }) => length >= 3);
  const events = newEvents(3);
  await log.append(stream, NO_STREAM, events);

  expect(idsOf((await followed).events)).toEqual(idsOf(events));
  await log.close();
});
