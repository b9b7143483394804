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
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { RetryBudget } from '../../src/engines/eventstoredb/retry-budget';
import { NO_STREAM } from '../../src/kernel/event';
import { newEvents, streamOf } from '../contracts/event-log/events';
import { startEsdbServer } from '../support/esdb-server';
import { TlsFront } from '../support/tls-front';

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
  /** The errors that appends meet, one after the other, until one is made. */
  readonly appendErrors?: string[];
}

/** A server that behaves as it is told. */
async function serverThat({
  version = '24.6.0',
  read = (call) => call.end(),
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

describe('What the server refuses is final, and says what helps', () => {
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

  test.each([
    ['21.10.8.0', '21.10.8.0'],
    ['22.10.5.0', '22.10.5.0'],
    ['', 'unknown'],
  ])('a server of version "%s" is refused by name', async (version, name) => {
    const server = await serverThat({ version });
    await expect(openEventStoreDb(server.url, PATIENT)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: `the event log is not available: it is version ${name}: expected EventStoreDB 23.10 or later`,
    });
    server.stop();
  });

  test('a stream whose events have no positions, as servers before 2022 send them', async () => {
    const nowhere = new ReadResp.ReadEvent.RecordedEvent().setCommitPosition('18446744073709551615');
    nowhere.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from('feed-1')));
    nowhere.setData(Buffer.from('{}')).getMetadataMap().set('type', 'Happened');
    let reads = 0;
    const read = (call: Call): void => {
      if ((reads += 1) > 1) call.write(new ReadResp().setEvent(new ReadResp.ReadEvent().setEvent(nowhere)));
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

test('what passes is tried again: a server that is away or busy, appends that it gives up, over one call', async () => {
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

test('a fault of our own code is no fault of the server: it is raised as it is', async () => {
  const fault = new TypeError('x is not a function');
  await expect(new RetryBudget(600_000).afterFailure(fault, performance.now())).rejects.toBe(fault);
});

test('a server that refuses connections is tried until patience is over, and the error says so', async () => {
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
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const server = await startEsdbServer();
    ({ stop } = server);
    folder = await mkdtemp(join(tmpdir(), 'affilog-'));
    front = await TlsFront.start(server.port, folder);
  });
  afterAll(async () => {
    await front.stop();
    await stop();
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

  test('tls=false to a server that uses TLS is said at once', async () => {
    await expect(openEventStoreDb(`esdb://127.0.0.1:${front.port}?tls=false`, PATIENT)).rejects.toMatchObject(
      { message: expect.stringMatching(/it uses TLS: remove tls=false/) },
    );
  });

  test('tlsVerifyCert=false takes a certificate that is not trusted; without it, it is refused', async () => {
    const url = `esdb://localhost:${front.port}`;
    const log = await openEventStoreDb(`${url}?tlsVerifyCert=false`, PATIENT);
    expect(await log.append('tls-2', NO_STREAM, newEvents(1))).toMatchObject({ revision: 0 });
    await log.close();

    for (const options of ['', '?tlsVerifyCert=true'])
      await expect(openEventStoreDb(url + options, PATIENT)).rejects.toMatchObject({
        message: expect.stringMatching(/certificate is not trusted/),
      });
  });
});
