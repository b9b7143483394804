import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb';
import { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type BatchAppendReq, BatchAppendResp, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { Any } from 'google-protobuf/google/protobuf/any_pb';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { RetryBudget } from '../../../src/engines/eventstoredb/requests';
import { NO_STREAM } from '../../../src/kernel/event';
import { newEvents, streamOf } from '../../contracts/event-log/events';
import { FakeCluster } from '../../support/esdb-cluster';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { TlsFront } from '../../support/tls-front';

/** What waiting does not mend is not waited for: the tests would end before. */
const PATIENT = { timeoutMs: 5_000, retryMs: 600_000 };

interface Call {
  write(message: unknown): void;
  end(): void;
  emit(event: 'error', error: unknown): void;
  on(event: 'data', listener: (request: BatchAppendReq) => void): void;
}

interface Behaviour {
  readonly version?: string;
  readonly read?: (call: Call) => void;
  /** What becomes of calls for appends. */
  readonly batchAppend?: (call: Call) => void;
  /** The errors that appends meet, one after the other, until one is made. */
  readonly appendErrors?: string[];
}

/** A server that behaves as it is told. */
async function serverThat({
  version = '24.6.0',
  read = (call) => call.end(),
  batchAppend,
  appendErrors = [],
}: Behaviour): Promise<{
  readonly url: string;
  readonly calls: { appends: number };
  stop(): void;
}> {
  const calls = { appends: 0 };
  const server = new Server();
  if (version !== '')
    server.addService(ServerFeaturesService, {
      getSupportedMethods: (_: unknown, answer: (error: null, supported: SupportedMethods) => void) =>
        answer(null, new SupportedMethods().setEventStoreServerVersion(version)),
    });
  server.addService(StreamsService, {
    read,
    batchAppend: (call: Call) => {
      calls.appends += 1;
      if (batchAppend !== undefined) {
        batchAppend(call);
        return;
      }
      call.on('data', (request) => call.write(answerTo(request, appendErrors.shift())));
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { url: `esdb://127.0.0.1:${port}?tls=false`, calls, stop: () => server.forceShutdown() };
}

function answerTo(request: BatchAppendReq, error: string | undefined): BatchAppendResp {
  const answer = new BatchAppendResp()
    .setCorrelationId(new UUID().setString(request.getCorrelationId()?.getString() ?? ''))
    .setStreamIdentifier(new StreamIdentifier());
  if (error === undefined) {
    const success = new BatchAppendResp.Success().setCurrentRevision('0');
    return answer.setSuccess(success);
  }
  const details = new Any();
  details.pack(new Uint8Array(), error);
  return answer.setError(new Status().setMessage('Server Is Busy').setDetails(details));
}

function failing(code: number, exception?: string): (call: Call) => void {
  return (call) => {
    const metadata = new Metadata();
    if (exception !== undefined) metadata.set('exception', exception);
    call.emit('error', { code, details: 'Exception was thrown by handler.', metadata });
  };
}

describe('A refusal of the server is final, and its message names the remedy', () => {
  test.each<[string, (call: Call) => void, RegExp]>([
    [
      'access to $all',
      failing(status.PERMISSION_DENIED, 'access-denied'),
      /must be allowed to read \$all .*\$acl/,
    ],
    ['a password', failing(status.UNAUTHENTICATED), /user name or the password/],
    ['an argument', failing(status.INVALID_ARGUMENT), /refused a request \(INVALID_ARGUMENT\)/],
    ['by a fault of its own', failing(status.UNKNOWN), /refused a request \(UNKNOWN\)/],
  ])('%s', async (_, read, message) => {
    const server = await serverThat({ read });
    await expect(openEventStoreDb(server.url, PATIENT)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringMatching(message),
    });
    server.stop();
  });

  test.each([
    ['event_store.client.AccessDenied', /must be allowed to write to the stream feed-1/],
    ['event_store.client.BadRequest', /malformed/],
  ])('an append: %s', async (kind, message) => {
    const server = await serverThat({ appendErrors: [kind] });
    const log = await openEventStoreDb(server.url, PATIENT);
    await expect(log.append('feed-1', NO_STREAM, newEvents(1))).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringMatching(message),
    });
    await log.close();
    server.stop();
  });

  test('the password, once it was changed: of reads and appends', async () => {
    let isChanged = false;
    const refused = failing(status.UNAUTHENTICATED);
    const read = (call: Call): void => (isChanged ? refused(call) : call.end());
    const server = await serverThat({ read, batchAppend: refused });
    const log = await openEventStoreDb(server.url, PATIENT);
    isChanged = true;
    const expected = {
      name: 'EngineUnavailable',
      message:
        'the event log is not available: access is denied: the user name or the password in its URL is wrong',
    };
    await expect(log.append('feed-1', NO_STREAM, newEvents(1))).rejects.toMatchObject(expected);
    await expect(streamOf(log, 'feed-1')).rejects.toMatchObject(expected);
    await expect(log.head()).rejects.toMatchObject(expected);
    await log.close();
    server.stop();
  });

  test.each([
    ['21.10.8.0', '21.10.8.0'],
    ['22.10.5.0', '22.10.5.0'],
    ['', 'unknown'],
  ])('a server of version "%s" is refused, naming its version', async (version, name) => {
    const server = await serverThat({ version });
    await expect(openEventStoreDb(server.url, PATIENT)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: `the event log is not available: it is version ${name}: expected EventStoreDB 23.10 or later`,
    });
    server.stop();
  });

  test('events without positions, as servers before 2022 send them, are refused', async () => {
    const nowhere = new ReadResp.ReadEvent.RecordedEvent().setCommitPosition('18446744073709551615');
    nowhere.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from('feed-1')));
    nowhere.setData(Buffer.from('{}')).getMetadataMap().set('type', 'Happened');
    let reads = 0;
    const read = (call: Call): void => {
      if ((reads += 1) > 2) call.write(new ReadResp().setEvent(new ReadResp.ReadEvent().setEvent(nowhere)));
      call.end();
    };
    const server = await serverThat({ read });
    const log = await openEventStoreDb(server.url, PATIENT);
    await expect(streamOf(log, 'feed-1')).rejects.toMatchObject({
      message: expect.stringMatching(/no positions: expected EventStoreDB 23.10 or later/),
    });
    await log.close();
    server.stop();
  });
});

test('transient failures are retried over one call: an unreachable or busy server, appends that time out in the server', async () => {
  let failures = 0;
  const read = (call: Call): void =>
    (failures += 1) < 4 ? failing([status.UNAVAILABLE, status.ABORTED][failures % 2]!)(call) : call.end();
  const appendErrors = ['event_store.client.Timeout', 'google.protobuf.Empty', 'event_store.client.Timeout'];
  const server = await serverThat({ read, appendErrors });
  const log = await openEventStoreDb(server.url, PATIENT);

  expect(await log.append('feed-1', NO_STREAM, newEvents(1))).toMatchObject({ revision: 0 });
  expect(failures).toBeGreaterThan(3);
  expect(server.calls.appends).toBe(1);
  await log.close();
  server.stop();
});

test('a bug of our own code is raised as it is, not as EngineUnavailable', async () => {
  const fault = new TypeError('x is not a function');
  await expect(new RetryBudget(600_000).afterFailure(fault, performance.now())).rejects.toBe(fault);
});

test('a server that refuses connections is retried for the given time, and the error says so', async () => {
  const warnings: string[] = [];
  const listener = ({ name }: Error): number => warnings.push(name);
  process.on('warning', listener);
  const server = await serverThat({});
  // A time-out that was doubled with each quick failure would be more than a timer takes.
  const log = await openEventStoreDb(server.url, { timeoutMs: 2 ** 30, retryMs: 1_500 });
  server.stop();
  await expect(log.append('feed-1', NO_STREAM, newEvents(1))).rejects.toMatchObject({
    message: expect.stringMatching(/cannot be reached/),
  });
  await log.close();
  process.off('warning', listener);

  expect(warnings).not.toContain('TimeoutOverflowWarning');
});

describe('TLS', () => {
  let folder: string;
  let front: TlsFront;
  let server: EsdbServer;

  beforeAll(async () => {
    server = await startEsdbServer();
    folder = await mkdtemp(join(tmpdir(), 'affilog-'));
    front = await TlsFront.start(server.port, folder);
  });
  afterAll(async () => {
    await front.stop();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test('an IP address is verified, without a warning of Node.js', async () => {
    const warnings: string[] = [];
    const listener = ({ message }: Error): number => warnings.push(message);
    process.on('warning', listener);
    const log = await openEventStoreDb(
      `esdb://127.0.0.1:${front.port}?tlsCAFile=${front.certificate}`,
      PATIENT,
    );
    await log.append('tls-1', NO_STREAM, newEvents(1));
    await log.close();
    process.off('warning', listener);

    expect(warnings.filter((message) => /server ?name/i.test(message))).toEqual([]);
  });

  test.each([
    ['one server', 'esdb://127.0.0.1:PORT'],
    ['a cluster', 'esdb+discover://127.0.0.1:PORT'],
  ])('tls=false with %s that uses TLS is reported at once', async (_, url) => {
    const plain = `${url.replace('PORT', String(front.port))}?tls=false`;
    await expect(openEventStoreDb(plain, PATIENT)).rejects.toMatchObject({
      message: expect.stringMatching(/it uses TLS: remove tls=false/),
    });
  });

  test('a cluster is found at IP addresses over TLS, without a warning of Node.js', async () => {
    const nodes = await FakeCluster.start(server.port);
    const secure = await nodes.overTls(folder);
    const warnings: string[] = [];
    const listener = ({ message }: Error): number => warnings.push(message);
    process.on('warning', listener);
    const url = `esdb+discover://127.0.0.1:${secure.port}?tlsCAFile=${secure.certificate}`;
    const log = await openEventStoreDb(url, PATIENT);
    await log.append('tls-3', NO_STREAM, newEvents(1));
    await log.close();
    await secure.stop();
    nodes.stop();
    process.off('warning', listener);

    expect(warnings.filter((message) => /server ?name/i.test(message))).toEqual([]);
  });

  test.each([
    [
      'has expired',
      { until: '20210304050607Z' },
      'its certificate expired on 2021-03-04T05:06:07Z: renew it',
    ],
    [
      'is not valid yet',
      { from: '29980102030405Z' },
      'its certificate is valid from 2998-01-02T03:04:05Z on: check the clocks of both machines, or replace it',
    ],
    [
      'is for another name',
      { name: 'node1', address: [10, 0, 0, 1] },
      'its certificate is for another name: use a name of the certificate in the URL, or issue it for this name',
    ],
  ])(
    'a certificate that %s is reported as such, with the remedy (decisions X96)',
    async (_, content, reason) => {
      const other = await TlsFront.start(server.port, folder, content);
      const trusting = `?tlsCAFile=${other.certificate}`;
      for (const scheme of ['esdb', 'esdb+discover'])
        for (const host of ['localhost', '127.0.0.1'])
          await expect(
            openEventStoreDb(`${scheme}://${host}:${other.port}${trusting}`, PATIENT),
          ).rejects.toMatchObject({ message: `the event log is not available: ${reason}` });
      await other.stop();
    },
  );

  test('tlsVerifyCert=false accepts an untrusted certificate, which is refused otherwise', async () => {
    const url = `esdb://localhost:${front.port}`;
    const log = await openEventStoreDb(`${url}?tlsVerifyCert=false`, PATIENT);
    expect(await log.append('tls-2', NO_STREAM, newEvents(1))).toMatchObject({ revision: 0 });
    await log.close();

    for (const options of ['', '?tlsVerifyCert=true'])
      await expect(openEventStoreDb(url + options, PATIENT)).rejects.toMatchObject({
        message: expect.stringMatching(/certificate is not trusted: .*tlsCAFile/),
      });
  });
});
