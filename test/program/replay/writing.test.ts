import {
  ANY,
  type AppendExpectedRevision,
  binaryEvent,
  type Credentials,
  type EventData,
  jsonEvent,
  NO_STREAM,
  type ResolvedEvent,
  STREAM_EXISTS,
} from '@eventstore/db-client';
import { esdbFixture } from '../../support/esdb-fixture';

const tried = esdbFixture();

/** The tried.client appends over one long call, but over one for each append where this one has credentials. */
const WAYS: readonly [way: string, options: { credentials?: Credentials }][] = [
  ['batch append', {}],
  ['append', { credentials: { username: 'admin', password: 'changeit' } }],
];

describe.each(WAYS)('%s', (_, way) => {
  const append = async (
    expectedRevision: AppendExpectedRevision,
    proposed: EventData[] = events(1),
  ): Promise<bigint> => {
    const options = { expectedRevision, ...way };
    return (await tried.client.appendToStream(tried.stream, proposed, options)).nextExpectedRevision;
  };

  /** What became of a stream before it is appended to. */
  const situations = {
    missing: async () => undefined,
    'with three events': async () => append(NO_STREAM, events(3)),
    deleted: async () => {
      await append(NO_STREAM, events(3));
      await tried.client.deleteStream(tried.stream);
    },
    'ended for ever': async () => {
      await append(NO_STREAM, events(3));
      await tried.client.tombstoneStream(tried.stream);
    },
    'ended before it had events': async () => tried.client.tombstoneStream(tried.stream),
    'with metadata alone': async () => tried.client.setStreamMetadata(tried.stream, { maxCount: 9 }),
  } as const;

  const wrong = { type: 'wrong-expected-version' };
  const gone = { type: 'stream-deleted' };
  test.each<[keyof typeof situations, AppendExpectedRevision, bigint | object]>([
    ['missing', ANY, 0n],
    ['missing', NO_STREAM, 0n],
    ['missing', STREAM_EXISTS, { ...wrong, expectedVersion: STREAM_EXISTS, actualVersion: 'no_stream' }],
    ['missing', 0n, { ...wrong, expectedVersion: 0n, actualVersion: 'no_stream' }],
    ['with three events', ANY, 3n],
    ['with three events', NO_STREAM, { ...wrong, expectedVersion: NO_STREAM, actualVersion: 2n }],
    ['with three events', STREAM_EXISTS, 3n],
    ['with three events', 0n, { ...wrong, expectedVersion: 0n, actualVersion: 2n }],
    ['with three events', 2n, 3n],
    ['with three events', 7n, { ...wrong, expectedVersion: 7n, actualVersion: 2n }],
    ['with three events', 2n ** 63n, wrong],
    ['deleted', ANY, 3n],
    ['deleted', NO_STREAM, 3n],
    ['deleted', STREAM_EXISTS, gone],
    ['deleted', 0n, wrong],
    ['deleted', 2n, 3n],
    ['ended for ever', ANY, gone],
    ['ended for ever', NO_STREAM, gone],
    ['ended for ever', STREAM_EXISTS, gone],
    ['ended for ever', 2n, gone],
    ['ended before it had events', ANY, gone],
    ['with metadata alone', ANY, 0n],
    ['with metadata alone', NO_STREAM, 0n],
    ['with metadata alone', STREAM_EXISTS, 0n],
    ['with metadata alone', 0n, wrong],
  ])('to a stream that is %s, expecting %p', async (situation, expected, outcome) => {
    await situations[situation]();

    if (typeof outcome === 'bigint') expect(await append(expected)).toBe(outcome);
    else await expect(append(expected)).rejects.toMatchObject(outcome);
  });

  test.each<[string, AppendExpectedRevision]>([
    ['at an exact revision, at any age', NO_STREAM],
    ['expecting anything, for a while', ANY],
  ])('the same events again, %s, are recognized', async (_name, expected) => {
    const first = events(3);
    await append(expected, first);
    await append(ANY, events(2));

    expect(await append(expected, first)).toBe(2n);
    expect(await append(expected, first.slice(0, 2))).toBe(1n);
    await expect(append(expected, [...first, ...events(1)])).rejects.toMatchObject(wrong);
    expect(await read()).toHaveLength(5);
  });

  test('without events checks the expected revision', async () => {
    await append(NO_STREAM, events(3));

    expect(await append(2n, [])).toBe(2n);
    expect(await append(ANY, [])).toBe(2n);
    await expect(append(0n, [])).rejects.toMatchObject(wrong);
  });

  test('bytes, JSON and metadata of any kind, or none, come back unchanged', async () => {
    const proposed = [
      jsonEvent({ type: 'Happened', data: { a: 1, at: 'no time' }, metadata: { $at: 5 } }),
      jsonEvent({ type: 'Happened', data: ['a'], metadata: { $octets: 'AAAA' } }),
      jsonEvent({ type: 'Happened', data: 'text' }),
      jsonEvent({ type: 'Happened', data: { $json: 'e30=' }, metadata: Buffer.from([0, 255]) }),
      binaryEvent({ type: 'Happened', data: Buffer.from('{"a":1}'), metadata: {} }),
      binaryEvent({ type: '.$ odd', data: Buffer.from([0, 1, 255]), metadata: Buffer.from('{ }') }),
    ];
    await append(NO_STREAM, proposed);

    const recorded = await read();
    expect(recorded.map(({ event }) => [event!.id, event!.type, event!.isJson])).toEqual(
      proposed.map(({ id, type, contentType }) => [id, type, contentType === 'application/json']),
    );
    expect(recorded.map(({ event }) => toPlain(event!.data))).toEqual(
      proposed.map(({ data }) => toPlain(data)),
    );
    expect(recorded.map(({ event }) => toPlain(event!.metadata))).toEqual([
      ...proposed.slice(0, 5).map(({ metadata }) => toPlain(metadata)),
      {},
    ]);
    for (const { event } of recorded)
      expect(Math.abs(event!.created.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test('an id that was appended twice is found at its first revision', async () => {
    const [event] = events(1);
    await append(NO_STREAM, [event!]);
    await append(0n, [event!]);

    expect(await append(ANY, [event!])).toBe(0n);
    expect(await read()).toHaveLength(2);
  });

  test.each<[string, AppendExpectedRevision]>([
    ['at an exact revision', NO_STREAM],
    ['expecting anything', ANY],
  ])(
    'the same events again, %s, have no position once they are truncated or deleted',
    async (_name, expected) => {
      const options = { expectedRevision: expected, ...way };
      const first = events(2);
      const made = await tried.client.appendToStream(tried.stream, first, options);
      await append(ANY, events(1));
      const again = () => tried.client.appendToStream(tried.stream, first, options);
      expect(await again()).toMatchObject({ nextExpectedRevision: 1n, position: made.position });

      await tried.client.setStreamMetadata(tried.stream, { truncateBefore: 2 });
      expect(await again()).toMatchObject({ success: true, nextExpectedRevision: 1n });
      expect((await again()).position).toBeUndefined();
      await tried.client.setStreamMetadata(tried.stream, { maxCount: 1 });
      expect((await again()).position).toBeUndefined();
    },
  );

  test('of 1,048,576 bytes of data succeeds, whatever the number of events and their metadata', async () => {
    const halves = 2;
    const text = 'x'.repeat(1_048_576 / halves - '{"text":""}'.length);
    const metadata = { text: 'x'.repeat(10_000) };
    const full = Array.from({ length: halves }, () =>
      jsonEvent({ type: 'Happened', data: { text }, metadata }),
    );

    expect(await append(NO_STREAM, full)).toBe(1n);
    expect(await append(1n, events(1_200))).toBe(1_201n);
    expect(await append(NO_STREAM, full)).toBe(1n);
    expect(await read()).toHaveLength(1_202);
    const tooMuch = { type: 'maximum-append-size-exceeded', maxAppendSize: 1_048_576 };
    const more = [...full, jsonEvent({ type: 'Happened', data: {} })];
    await expect(append(1_201n, more)).rejects.toMatchObject(tooMuch);
  });

  test('of an event without a type is refused', async () => {
    await expect(append(NO_STREAM, [jsonEvent({ type: '', data: {} })])).rejects.toMatchObject({
      type: 'unknown',
    });
    await expect(read()).rejects.toMatchObject({ type: 'stream-not-found' });
  });
});

test('an append in several messages is one append', async () => {
  const text = 'x'.repeat(20_000);
  const many = Array.from({ length: 20 }, (_, n) => jsonEvent({ type: 'Happened', data: { n, text } }));
  const options = { expectedRevision: NO_STREAM, batchAppendSize: 50_000 } as const;

  expect(await tried.client.appendToStream(tried.stream, many, options)).toMatchObject({
    nextExpectedRevision: 19n,
  });
  expect(await read()).toHaveLength(20);
});

test('hundreds of concurrent appends, to one stream and to many, are each made and answered', async () => {
  const streams = Array.from({ length: 300 }, (_, n) => (n % 3 === 0 ? tried.stream : `${tried.stream}${n}`));
  const appended = await Promise.all(streams.map((name) => tried.client.appendToStream(name, events(2))));

  expect(appended.every(({ success }) => success)).toBe(true);
  expect(await read()).toHaveLength(200);
});

describe('a deleted stream', () => {
  beforeEach(async () => {
    await tried.client.appendToStream(tried.stream, events(3));
    await tried.client.setStreamMetadata(tried.stream, { maxCount: 50 });
    await tried.client.deleteStream(tried.stream, { expectedRevision: 2n });
  });

  test('does not exist until an append recreates it, with continued numbering', async () => {
    await expect(read()).rejects.toMatchObject({ type: 'stream-not-found', streamName: tried.stream });
    await tried.client.appendToStream(tried.stream, events(2), { expectedRevision: NO_STREAM });

    expect((await read()).map(({ event }) => event!.revision)).toEqual([3n, 4n]);
    expect((await tried.client.getStreamMetadata(tried.stream)).metadata).toEqual({ truncateBefore: 3 });
  });

  test('is deleted only at the expected revision, and only if it exists', async () => {
    const other = `${tried.stream}0`;
    await expect(tried.client.deleteStream(other)).rejects.toMatchObject({
      type: 'wrong-expected-version',
      streamName: other,
      expectedVersion: -2n,
    });
    await tried.client.appendToStream(other, events(2));
    await expect(tried.client.deleteStream(other, { expectedRevision: 7n })).rejects.toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 7n,
      actualVersion: 1n,
    });
    await expect(tried.client.tombstoneStream(other, { expectedRevision: NO_STREAM })).rejects.toMatchObject({
      type: 'wrong-expected-version',
    });
  });
});

describe('a metadata stream', () => {
  const about = (): string => `$$${tried.stream}`;

  test('that does not exist cannot be deleted', async () => {
    await expect(tried.client.deleteStream(about())).rejects.toMatchObject({
      type: 'wrong-expected-version',
      streamName: about(),
    });
  });

  test('is deleted without an effect', async () => {
    await tried.client.appendToStream(tried.stream, events(3));
    await tried.client.setStreamMetadata(tried.stream, { maxCount: 2 });

    expect((await tried.client.deleteStream(about())).position).toBeDefined();
    expect((await tried.client.deleteStream(about())).position).toBeDefined();
    expect((await tried.client.getStreamMetadata(tried.stream)).metadata).toEqual({ maxCount: 2 });
    expect(await read()).toHaveLength(2);
  });

  test('is tombstoned separately', async () => {
    await tried.client.appendToStream(tried.stream, events(3));
    await tried.client.setStreamMetadata(tried.stream, { maxCount: 2 });
    await tried.client.tombstoneStream(about());

    await expect(read(about())).rejects.toMatchObject({ type: 'stream-deleted' });
    await expect(tried.client.deleteStream(about())).rejects.toMatchObject({ type: 'stream-deleted' });
  });
});

test('a tombstoned stream cannot be read, deleted or given metadata', async () => {
  const named = `${tried.stream}-ü`;
  await tried.client.appendToStream(named, events(3));
  const { position } = await tried.client.tombstoneStream(named, { expectedRevision: 2n });

  expect(position).toBeDefined();
  const gone = { type: 'stream-deleted' };
  await expect(read(named)).rejects.toMatchObject(gone);
  await expect(tried.client.deleteStream(named)).rejects.toMatchObject(gone);
  await expect(tried.client.tombstoneStream(named)).rejects.toMatchObject(gone);
  await expect(tried.client.setStreamMetadata(named, {})).rejects.toMatchObject(gone);
});

function events(count: number): EventData[] {
  return Array.from({ length: count }, (_, n) => jsonEvent({ type: 'Happened', data: { n } }));
}

async function read(name = tried.stream): Promise<readonly ResolvedEvent[]> {
  const all: ResolvedEvent[] = [];
  for await (const event of tried.client.readStream(name)) all.push(event);
  return all;
}

function toPlain(value: unknown): unknown {
  return value instanceof Uint8Array ? [...value] : value;
}
