import { randomUUID } from 'node:crypto';
import { type AppendToStreamOptions, EventStoreDBClient } from '@eventstore/db-client';
import { Empty, type UUID } from '@eventstore/db-client/generated/shared_pb';
import { Code } from '@eventstore/db-client/generated/code_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type ServiceError, status } from '@grpc/grpc-js';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { serveWritable } from '../../support/esdb-writing/serve-writable';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { collected, happened } from '../../support/esdb-events';
import { logFolder } from '../../support/log-folder';
import { decoded, encoded, ENCODINGS, identifierOf, RawEsdb } from '../../support/raw-esdb';
import { overrideLog } from '../../support/temporary-log';
import { esdbFixture } from '../../support/esdb-fixture';

const tried = esdbFixture();
const NIL = '00000000-0000-0000-0000-000000000000';

describe('to clients of other languages', () => {
  let raw: RawEsdb;
  beforeAll(() => {
    raw = new RawEsdb(tried.server.port);
  });
  afterAll(() => raw.close());

  test.each(ENCODINGS)('ids are sent in the requested encoding: %s', async (encoding) => {
    const event = happened();
    await tried.client.appendToStream(tried.stream, event);
    const ids = new ReadReq.Options.UUIDOption();
    if (encoding === 'text') ids.setString(new Empty());
    else ids.setStructured(new Empty());
    const [read] = await raw.read((options) => ofStream(options).setUuidOption(ids));

    expect(decoded(read!.getEvent()!.getEvent()!.getId()!)).toEqual({ id: event.id, encoding });
  });

  test.each<[string, (encoding: UUID) => Promise<unknown>]>([
    ['an append', (id) => raw.append(Buffer.from(tried.stream), id)],
    [
      'an append of many',
      (id) => raw.batchAppend(Buffer.from(tried.stream), id, encoded(randomUUID(), 'text')),
    ],
  ])('ids of %s are accepted in either encoding', async (_, append) => {
    const ids = ENCODINGS.map((encoding) => [`f${randomUUID().slice(1)}`, encoding] as const);
    for (const [id, encoding] of ids) await append(encoded(id, encoding));
    const again = await append(encoded(ids[0]![0], ids[1]![1]));

    const recorded = await collected(tried.client.readStream(tried.stream));
    expect(recorded.map(({ event }) => event!.id)).toEqual(ids.map(([id]) => id));
    expect(again).toBeDefined();
  });

  test.each(ENCODINGS)(
    'an append of many is answered by the id that it came with: as %s',
    async (encoding) => {
      const correlation = `f${randomUUID().slice(1)}`;
      const answer = await raw.batchAppend(
        Buffer.from(tried.stream),
        encoded(randomUUID(), 'text'),
        encoded(correlation, encoding),
      );

      expect(decoded(answer.getCorrelationId()!)).toEqual({ id: correlation, encoding });
      expect(answer.hasSuccess()).toBe(true);
    },
  );

  test.each<[string, (options: ReadReq.Options) => unknown]>([
    ['without an encoding of ids', (options) => options.clearUuidOption()],
    ['of nothing', (options) => options.clearAll()],
    [
      'of a stream whose name is no text',
      (options) => ofStream(options).getStream()!.setStreamIdentifier(identifierOf(NO_TEXT)),
    ],
    [
      'of a stream by a filter',
      (options) => ofStream(options).setFilter(new ReadReq.Options.FilterOptions()),
    ],
    ['by a filter of nothing', (options) => options.setFilter(new ReadReq.Options.FilterOptions())],
    [
      'of a subscription backwards',
      (options) =>
        options
          .setSubscription(new ReadReq.Options.SubscriptionOptions())
          .setReadDirection(ReadReq.Options.ReadDirection.BACKWARDS),
    ],
  ])('a read %s is refused', async (_, spoil) => {
    await expect(raw.read(spoil)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  test('requests that fail inside EventStoreDB have status UNKNOWN: a stream without a name, positions and revisions out of range', async () => {
    const stream = identifierOf(Buffer.from(''));
    const out = new ReadReq.Options.Position().setCommitPosition('5').setPreparePosition('6');
    const far = String(2n ** 63n);

    for (const spoil of [
      (options: ReadReq.Options) => ofStream(options).getStream()!.setStreamIdentifier(stream),
      (options: ReadReq.Options) => ofStream(options).getStream()!.setRevision(far),
      (options: ReadReq.Options) => options.getAll()!.setPosition(out),
    ])
      await expect(raw.read(spoil)).rejects.toMatchObject({ code: status.UNKNOWN });
  });

  test.each(['{', '('])('an id in %s is accepted, with or without dashes', async (bracket) => {
    const id = randomUUID();
    const close = { '{': '}', '(': ')' }[bracket];
    for (const text of [`${bracket}${id}${close}`, id.replaceAll('-', ''), id.toUpperCase()])
      await raw.append(Buffer.from(tried.stream), encoded(text, 'text'));

    const recorded = await collected(tried.client.readStream(tried.stream));
    expect(recorded.map(({ event }) => event!.id)).toEqual([id]);
  });

  test.each(['none', NIL, `{${NIL}}`, `{${randomUUID()}`])(
    'an event with the id %j is refused',
    async (id) => {
      const stream = Buffer.from(tried.stream);

      await expect(raw.append(stream, encoded(id, 'text'))).rejects.toMatchObject({ code: status.UNKNOWN });
      const answer = await raw.batchAppend(stream, encoded(id, 'text'), encoded(randomUUID(), 'text'));
      expect(answer.getError()!.getDetails()!.getTypeUrl()).toMatch(/event_store\.client\.BadRequest$/);
    },
  );

  test('an append to a stream without a name is refused', async () => {
    const id = encoded(randomUUID(), 'text');
    const nameless = Buffer.from('');

    await expect(raw.append(nameless, id)).rejects.toMatchObject({ code: status.UNKNOWN });
    expect((await raw.batchAppend(nameless, id, id)).getError()!.getCode()).toBe(Code.INVALID_ARGUMENT);
  });

  test('an append is refused if the name is not UTF-8 or a required property is missing', async () => {
    const id = encoded(randomUUID(), 'text');
    const invalid = { code: status.INVALID_ARGUMENT };

    await expect(raw.append(NO_TEXT, id)).rejects.toMatchObject(invalid);
    expect((await raw.batchAppend(NO_TEXT, id, id)).getError()!.getMessage()).toMatch(/not in UTF-8/);
    const untyped = raw.append(Buffer.from(tried.stream), id, (event) => event.getMetadataMap().del('type'));
    const refusal = (await untyped.catch((error: unknown) => error)) as ServiceError;
    expect(refusal.metadata.getMap()).toMatchObject({
      exception: 'missing-required-metadata-property',
      'required-metadata-properties': 'type,content-type',
    });
    await expect(collected(tried.client.readStream(tried.stream))).rejects.toMatchObject({
      type: 'stream-not-found',
    });
  });
});

test('cluster discovery finds a single node', async () => {
  const discovering = EventStoreDBClient.connectionString(
    `esdb+discover://127.0.0.1:${tried.server.port}?tls=false`,
  );
  expect(await discovering.appendToStream(tried.stream, happened())).toMatchObject({ success: true });
  await discovering.dispose();
});

describe('over a failing log', () => {
  const CREDENTIALS = { username: 'admin', password: 'changeit' };
  const WAYS: readonly [string, AppendToStreamOptions][] = [
    ['append', { credentials: CREDENTIALS }],
    ['append of many', {}],
  ];
  let append: EventLog['append'] | undefined;
  let readStream: EventLog['readStream'] | undefined;
  const reported: unknown[] = [];
  let client: EventStoreDBClient;
  const opened: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const { file, remove } = await logFolder();
    const { log } = await openLog(file, false);
    const troubled = overrideLog(log, {
      append: (...args) => (append ?? log.append.bind(log))(...args),
      readStream: (...args) => (readStream ?? log.readStream.bind(log))(...args),
    });
    const report = (error: unknown): unknown => reported.push(error);
    const endpoint = await serveWritable(troubled, { host: '127.0.0.1', port: 0, report });
    client = EventStoreDBClient.connectionString(endpoint.url);
    opened.push(
      remove,
      () => log.close(),
      () => endpoint.close(),
      () => client.dispose(),
    );
  });
  beforeEach(() => {
    append = undefined;
    readStream = undefined;
  });
  afterAll(async () => {
    for (const close of opened.reverse()) await close();
  });

  test.each(WAYS)('an %s is unavailable while the log is, and succeeds when it is back', async (_, way) => {
    append = () => Promise.reject(new EngineUnavailable('the disk is full'));
    const tries = Array.from({ length: 3 }, (_try, n) =>
      client.appendToStream(`${tried.stream}${n}`, happened(), way),
    );
    for (const outcome of await Promise.allSettled(tries))
      expect(outcome).toMatchObject({
        reason: { type: 'unavailable', message: expect.stringMatching(/the disk is full/) },
      });

    append = undefined;
    expect(await client.appendToStream(tried.stream, happened(), way)).toMatchObject({ success: true });
  });

  test.each(WAYS)('an %s fails when its deadline passes', async (_, way) => {
    await client.appendToStream(`${tried.stream}0`, happened(), way);
    append = () => new Promise(() => undefined);
    const late = { type: 'deadline-exceeded' };

    await expect(
      client.appendToStream(tried.stream, happened(), { ...way, deadline: 300 }),
    ).rejects.toMatchObject(late);
    append = undefined;
    await expect(
      client.appendToStream(`${tried.stream}1`, happened(), { ...way, deadline: -1_000 }),
    ).rejects.toMatchObject(late);
  });

  test('a read is unavailable while the log is', async () => {
    readStream = async function* () {
      throw new EngineUnavailable('its file is damaged');
    };

    await expect(collected(client.readStream(tried.stream))).rejects.toMatchObject({
      type: 'unavailable',
      message: expect.stringMatching(/its file is damaged/),
    });
    expect(reported).toEqual([]);
  });

  test.each(WAYS)(
    'an %s that fails by a fault of the program is told to it, and to clients as unknown',
    async (_, way) => {
      const fault = new Error('secret');
      append = () => Promise.reject(fault);

      await expect(client.appendToStream(tried.stream, happened(), way)).rejects.toMatchObject({
        type: 'unknown',
        message: expect.not.stringContaining('secret'),
      });
      expect(reported.splice(0)).toEqual([fault]);
    },
  );
});

/** Bytes that are no UTF-8. */
const NO_TEXT = Buffer.from([0x66, 0xff]);

/** The stream of the test at hand, instead of all. */
function ofStream(options: ReadReq.Options): ReadReq.Options {
  const of = new ReadReq.Options.StreamOptions().setStart(new Empty());
  return options.setStream(of.setStreamIdentifier(identifierOf(Buffer.from(tried.stream))));
}
