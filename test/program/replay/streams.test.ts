import { once } from 'node:events';
import {
  BACKWARDS,
  binaryEvent,
  END,
  EventStoreDBClient,
  FORWARDS,
  type ResolvedEvent,
  START,
} from '@eventstore/db-client';
import { Empty } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { begin, collected, happened } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';
import { startFaultyProxy } from '../../support/faulty-proxy';
import { identifierOf, RawEsdb } from '../../support/raw-esdb';

const tried = esdbFixture();

describe('a stream', () => {
  beforeEach(() => begin(tried.client, tried.stream, 10));

  test.each<[string, Parameters<EventStoreDBClient['readStream']>[1], number[]]>([
    ['from the start', {}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ['from a revision, which is the first', { fromRevision: 7n }, [7, 8, 9]],
    ['from beyond its end', { fromRevision: 70n }, []],
    ['so many', { fromRevision: 2n, maxCount: 3 }, [2, 3, 4]],
    ['backwards from its end', { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, [9, 8]],
    ['backwards from a revision', { direction: BACKWARDS, fromRevision: 2n }, [2, 1, 0]],
    ['backwards from beyond its end', { direction: BACKWARDS, fromRevision: 70n, maxCount: 1 }, [9]],
    ['backwards from its start', { direction: BACKWARDS, fromRevision: START }, [0]],
  ])('%s', async (_, options, revisions) => {
    expect(await revisionsOf(tried.client.readStream(tried.stream, options))).toEqual(revisions);
  });

  test.each<[string, Parameters<EventStoreDBClient['readStream']>[1]]>([
    ['forwards from its end', { direction: FORWARDS, fromRevision: END }],
    ['at most 0 events', { maxCount: 0 }],
    ['at most 0 events backwards', { maxCount: 0, direction: BACKWARDS, fromRevision: END }],
  ])('refuses to read %s', async (_, options) => {
    await expect(collected(tried.client.readStream(tried.stream, options))).rejects.toMatchObject({
      type: 'unknown',
    });
  });

  test.each([
    [{ maxCount: 3 }, [7, 8, 9]],
    [{ truncateBefore: 6 }, [6, 7, 8, 9]],
    [{ truncateBefore: 6, maxCount: 2 }, [8, 9]],
    [{ truncateBefore: 60 }, []],
    [{ maxAge: 3_600 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ owner: 'nobody' }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ])('with metadata %j', async (metadata, revisions) => {
    await tried.client.setStreamMetadata(tried.stream, metadata);

    expect(await revisionsOf(tried.client.readStream(tried.stream))).toEqual(revisions);
    const back = tried.client.readStream(tried.stream, { direction: BACKWARDS, fromRevision: END });
    expect(await revisionsOf(back)).toEqual(revisions.toReversed());
    expect((await tried.client.getStreamMetadata(tried.stream)).metadata).toEqual(metadata);
  });

  test('with a $maxAge hides older events, by the time in their data if there is one', async () => {
    const aged = (at: string): ReturnType<typeof happened> => happened('Happened', { at });
    const now = new Date().toISOString();
    await tried.client.appendToStream(tried.stream, [aged('2020-01-01T00:00:00.000Z'), aged(now)]);
    await tried.client.setStreamMetadata(tried.stream, { maxAge: 3_600 });

    const read = await collected(tried.client.readStream(tried.stream, { fromRevision: 9n }));
    expect(read.map(({ event }) => event!.revision)).toEqual([9n, 11n]);
    expect(read.at(-1)!.event!.created.toISOString()).toBe(now);
  });

  test('of metadata shows only the last event', async () => {
    await tried.client.setStreamMetadata(tried.stream, { maxCount: 3 });
    await tried.client.setStreamMetadata(tried.stream, { maxCount: 4 });

    expect(await revisionsOf(tried.client.readStream(`$$${tried.stream}`))).toEqual([1]);
  });

  test('can be subscribed to: existing events after a revision, then new ones, until it is tombstoned', async () => {
    const subscription = tried.client.subscribeToStream(tried.stream, { fromRevision: 6n });
    const revisions: bigint[] = [];
    let caughtUp = 0;
    subscription.on('caughtUp', () => (caughtUp += 1));
    const ended = (async () => {
      for await (const { event } of subscription) {
        revisions.push(event!.revision);
        if (event!.revision === 9n) await tried.client.appendToStream(tried.stream, happened());
        if (event!.revision === 10n) await tried.client.tombstoneStream(tried.stream);
      }
    })();

    await expect(ended).rejects.toMatchObject({ type: 'stream-deleted' });
    expect(revisions).toEqual([7n, 8n, 9n, 10n, 2n ** 63n - 1n]);
    expect(caughtUp).toBe(1);
  });

  test('that is tombstoned cannot be subscribed to', async () => {
    await tried.client.tombstoneStream(tried.stream);

    await expect(collected(tried.client.subscribeToStream(tried.stream))).rejects.toMatchObject({
      type: 'stream-deleted',
    });
  });

  test('delivers its tombstone to a live subscriber of all streams', async () => {
    const subscription = tried.client.subscribeToAll({ fromPosition: END });
    await once(subscription, 'caughtUp');
    const [[seen]] = await Promise.all([
      once(subscription, 'data') as Promise<[ResolvedEvent]>,
      tried.client.tombstoneStream(tried.stream),
    ]);

    expect(seen.event).toMatchObject({
      type: '$streamDeleted',
      streamId: tried.stream,
      revision: 2n ** 63n - 1n,
    });
    await subscription.unsubscribe();
  });

  test.each<[string, Parameters<EventStoreDBClient['subscribeToStream']>[1], bigint]>([
    ['its start', { fromRevision: START }, 0n],
    ['its first event', { fromRevision: 0n }, 1n],
    ['its end', { fromRevision: END }, 10n],
  ])('is subscribed to from %s', async (_, options, first) => {
    const subscription = tried.client.subscribeToStream(tried.stream, options);
    await new Promise<void>((resolve) => subscription.once('confirmation', () => resolve()));
    const next = subscription[Symbol.asyncIterator]().next();
    await tried.client.appendToStream(tried.stream, happened());

    expect(((await next).value as ResolvedEvent).event!.revision).toBe(first);
    await subscription.unsubscribe();
  });
});

test('a link is resolved on request, without an event if its target is gone', async () => {
  await begin(tried.client, tried.stream, 3);
  const links = ['1@' + tried.stream, '0@' + tried.stream, `7@${tried.stream}`, `0@${tried.stream}-none`];
  const linked = links.map((to) => binaryEvent({ type: '$>', data: Buffer.from(to) }));
  await tried.client.appendToStream(`${tried.stream}-links`, linked);
  await tried.client.setStreamMetadata(tried.stream, { truncateBefore: 1 });

  const plain = await collected(tried.client.readStream(`${tried.stream}-links`));
  const followed = await collected(
    tried.client.readStream(`${tried.stream}-links`, { resolveLinkTos: true }),
  );
  expect(plain.map(({ event, link }) => [event!.type, link])).toEqual(links.map(() => ['$>', undefined]));
  expect(followed.map(({ event }) => event && `${event.revision}@${event.streamId}`)).toEqual([
    links[0],
    undefined,
    undefined,
    undefined,
  ]);
  expect(followed.map(({ link }) => link!.revision)).toEqual([0n, 1n, 2n, 3n]);
});

test.each(['', 'x', '1', 'one@', `one@stream`, '@stream', '1.5@stream'])(
  'a link to %j leads nowhere: only with a number before it is it a link at all',
  async (to) => {
    const link = binaryEvent({ type: '$>', data: Buffer.from(to) });
    await tried.client.appendToStream(tried.stream, link);
    const shown = ({ event, link }: ResolvedEvent): unknown[] => [event?.id, link?.id];
    const meant = /^\d+(@|$)/.test(to) ? [undefined, link.id] : [link.id, undefined];

    const [read] = await collected(tried.client.readStream(tried.stream, { resolveLinkTos: true }));
    expect(shown(read!)).toEqual(meant);
  },
);

test.each<[string, (options: ReadReq.Options) => unknown, (string | number)[]]>([
  ['from the start', (options) => options, [4, 5, 6, 7, 8, 9, 'last 9']],
  ['of some', (options) => options.setCount('2'), ['first 4', 4, 5, 'last 9']],
  ['from beyond the end', (options) => options.getStream()!.setRevision('11'), ['first 10', 'last 9']],
  ['from the end', (options) => options.getStream()!.setRevision('10'), ['last 9']],
  [
    'backwards',
    (options) =>
      options
        .setCount('2')
        .setReadDirection(ReadReq.Options.ReadDirection.BACKWARDS)
        .getStream()!
        .setEnd(new Empty()),
    [9, 8, 'last 9'],
  ],
  ['at level 0', (options) => options.getControlOption()!.setCompatibility(0), [4, 5, 6, 7, 8, 9]],
])(
  'a client of compatibility level 1 is told where a stream begins and ends: %s',
  async (_, change, told) => {
    await begin(tried.client, tried.stream, 10);
    await tried.client.setStreamMetadata(tried.stream, { truncateBefore: 4 });
    const raw = new RawEsdb(tried.server.port);
    const responses = await raw.read((options) => {
      const of = new ReadReq.Options.StreamOptions().setStart(new Empty());
      options.setStream(of.setStreamIdentifier(identifierOf(Buffer.from(tried.stream))));
      options.setControlOption(new ReadReq.Options.ControlOption().setCompatibility(1));
      change(options);
    });
    raw.close();

    expect(
      responses.map((response) => {
        if (response.hasFirstStreamPosition()) return `first ${response.getFirstStreamPosition()}`;
        if (response.hasLastStreamPosition()) return `last ${response.getLastStreamPosition()}`;
        return Number(response.getEvent()!.getEvent()!.getStreamRevision());
      }),
    ).toEqual(told);
  },
);

test.each<
  [
    string,
    (client: EventStoreDBClient) => ReturnType<EventStoreDBClient['subscribeToStream' | 'subscribeToAll']>,
  ]
>([
  ['a stream', (client) => client.subscribeToStream(tried.stream, { fromRevision: START })],
  ['all streams', (client) => client.subscribeToAll({ fromPosition: START })],
])('a client that consumes nothing of %s receives no more than the buffers hold', async (_, subscribe) => {
  const text = 'x'.repeat(2_000);
  for (let n = 0; n < 20; n += 1)
    await tried.client.appendToStream(
      tried.stream,
      Array.from({ length: 400 }, () => happened('Happened', { text })),
    );
  const proxy = await startFaultyProxy(tried.server.port);
  const slow = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${proxy.port}?tls=false`);
  const subscription = subscribe(slow);
  const [first] = (await once(subscription, 'readable')) as unknown[];
  // Answers come after whatever the server was able to send before.
  for (let n = 0; n < 20; n += 1) await slow.appendToStream(`${tried.stream}0`, happened());

  expect(first).toBeUndefined();
  expect(proxy.seen.bytes).toBeLessThan(4_000_000);
  await subscription.unsubscribe();
  await slow.dispose();
  await proxy.close();
});

async function revisionsOf(events: AsyncIterable<ResolvedEvent>): Promise<readonly number[]> {
  return (await collected(events)).map(({ event }) => Number(event!.revision));
}
