import { EventEmitter, once } from 'node:events';
import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  binaryEvent,
  END,
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  FORWARDS,
  type Position,
  type ResolvedEvent,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { Empty } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { begin, collected, happened } from '../../support/esdb-events';
import { RawEsdb } from '../../support/raw-esdb';
import { esdbFixture } from '../../support/esdb-fixture';

const tried = esdbFixture();

describe('all streams', () => {
  let positions: readonly Position[];

  beforeEach(async () => {
    await begin(tried.client, `${tried.category}feed-1`, 3, 'ProductListed');
    await begin(tried.client, `${tried.category}feeds-1`, 2, 'ProductRevised');
    await begin(tried.client, `${tried.category}voucher-1`, 2, 'VoucherListed');
    await tried.client.setStreamMetadata(`${tried.category}feed-1`, { maxCount: 1 });
    const own = await collected(tried.client.readAll());
    positions = own.filter(({ event }) => isOwn(event)).map(({ event }) => event!.position);
  });

  test('are read from a position, inclusive forwards and exclusive backwards', async () => {
    expect(positions).toHaveLength(8);
    const forwards = await collected(tried.client.readAll({ fromPosition: positions[2]!, maxCount: 3 }));
    const backwards = await collected(
      tried.client.readAll({ direction: BACKWARDS, fromPosition: positions[5]!, maxCount: 3 }),
    );
    const last = await collected(
      tried.client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }),
    );

    expect(forwards.map(({ event }) => event!.position)).toEqual(positions.slice(2, 5));
    expect(backwards.map(({ event }) => event!.position)).toEqual(positions.slice(2, 5).toReversed());
    expect(last.map(({ event }) => event!.streamId)).toEqual([`$$${tried.category}feed-1`]);
    expect(await collected(tried.client.readAll({ direction: FORWARDS, fromPosition: END }))).toEqual([]);
    expect(await collected(tried.client.readAll({ direction: BACKWARDS, fromPosition: START }))).toEqual([]);
  });

  test.each<[string, () => Filter, readonly string[]]>([
    [
      'streams with a prefix',
      () => streamNameFilter({ prefixes: [`${tried.category}feed`] }),
      ['feed', 'feed', 'feeds', 'feeds'],
    ],
    [
      'streams with one of some',
      () => streamNameFilter({ prefixes: [`${tried.category}feed-`, `${tried.category}v`] }),
      ['feed', 'feed', 'voucher', 'voucher'],
    ],
    ['metadata of streams', () => streamNameFilter({ prefixes: [`$$${tried.category}`] }), ['$$feed']],
    [
      'streams that match',
      () => streamNameFilter({ regex: `^${tried.category}(feed|voucher)-\\d+$` }),
      ['feed', 'feed', 'voucher', 'voucher'],
    ],
    [
      'types with a prefix',
      () => eventTypeFilter({ prefixes: ['Product'] }),
      ['feed', 'feed', 'feeds', 'feeds'],
    ],
    ['types that match', () => eventTypeFilter({ regex: 'Listed$' }), ['feed', 'feed', 'voucher', 'voucher']],
    [
      'no events of the server',
      () => excludeSystemEvents(),
      ['feed', 'feed', 'feeds', 'feeds', 'voucher', 'voucher'],
    ],
  ])('filtered, %s', async (_, filter, names) => {
    const { seen, checkpoint } = await caughtUp(positions[0]!, filter());

    expect(seen.map(({ event }) => event!.streamId.replace(tried.category, '').replace(/-1$/, ''))).toEqual(
      names,
    );
    expect(checkpoint).toEqual(seen.at(-1)!.event!.position);
  });

  describe.each(['forwards', 'backwards'] as const)(
    'filtered, read %s as by other languages,',
    (direction) => {
      test.each<
        [
          string,
          'stream' | 'type',
          () => readonly string[] | string,
          (stream: string, type: string) => boolean,
        ]
      >([
        [
          'streams with one of some prefixes',
          'stream',
          () => [`${tried.category}feed-`, `${tried.category}v`],
          (stream) => /^(feed-|v)/.test(stream),
        ],
        [
          'streams that match',
          'stream',
          () => `^${tried.category}(feeds|voucher)-\\d$`,
          (stream) => /^(feeds|voucher)/.test(stream),
        ],
        ['types with a prefix', 'type', () => ['Product'], (_, type) => type.startsWith('Product')],
        ['types that match', 'type', () => 'List.d$', (_, type) => type.endsWith('Listed')],
        ['nothing', 'stream', () => [`${tried.category}none`], () => false],
      ])('%s', async (_, on, by, isMeant) => {
        const own = (await collected(tried.client.readAll())).flatMap(({ event }) =>
          isOwn(event) ? [event!] : [],
        );
        const backwards = direction === 'backwards';
        // Forwards a read begins with the position, backwards it ends before it.
        const part = backwards ? own.slice(0, 6).toReversed() : own.slice(1);
        const wanted = part.filter(({ streamId, type }) =>
          isMeant(streamId.replace(tried.category, ''), type),
        );
        const filter = filterOf(on, by());
        const position = backwards ? positions[6]! : positions[1]!;

        const all = await readFiltered(filter, backwards, position, 1_000);
        expect(all.filter((id) => own.some((event) => event.id === id))).toEqual(wanted.map(({ id }) => id));
        if (on === 'stream') expect(all).toHaveLength(wanted.length);
        expect(await readFiltered(filter, backwards, position, 2)).toEqual(all.slice(0, 2));
      });
    },
  );

  test('filtered, live: new events, and periodic checkpoints', async () => {
    const checkpoints: Position[] = [];
    const told = new EventEmitter();
    const filter = streamNameFilter({
      prefixes: [`${tried.category}own`],
      maxSearchWindow: 2,
      checkpointInterval: 3,
      checkpointReached: async (_, position) => {
        checkpoints.push(position);
        told.emit('told');
      },
    });
    const subscription = tried.client.subscribeToAll({ fromPosition: END, filter });
    const next = subscription[Symbol.asyncIterator]().next();
    await once(subscription, 'caughtUp');
    const others: Position[] = [];
    for (let n = 0; n < 13; n += 1)
      others.push((await tried.client.appendToStream(`${tried.category}other`, happened())).position!);
    while (checkpoints.length < 2) await once(told, 'told');
    const own = await tried.client.appendToStream(`${tried.category}own`, happened());

    expect(((await next).value as AllStreamResolvedEvent).event!.position).toEqual(own.position);
    expect(checkpoints).toEqual([others[5], others[11]]);
    await subscription.unsubscribe();
  });

  test('unfiltered, live: existing events after a position, then new ones, in order', async () => {
    const seen: bigint[] = [];
    const subscription = tried.client.subscribeToAll({ fromPosition: positions[4]! });
    subscription.once('caughtUp', () => {
      void tried.client.appendToStream(`${tried.category}other`, [happened(), happened()]);
    });
    for await (const { event } of subscription) {
      seen.push(event!.position.commit);
      if (event!.streamId === `${tried.category}other` && event!.revision === 1n) break;
    }

    const commits = positions.map(({ commit }) => commit);
    expect(seen.slice(0, 3)).toEqual(commits.slice(5));
    expect(seen).toHaveLength(5);
    expect(seen).toEqual(seen.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test('resolve links on request, in reads and subscriptions', async () => {
    const links = `${tried.category}links-1`;
    const to = Buffer.from(`1@${tried.category}voucher-1`);
    const { position } = await tried.client.appendToStream(links, binaryEvent({ type: '$>', data: to }));
    const named = ({ event, link }: ResolvedEvent) => [event?.streamId, event?.revision, link?.streamId];
    const followed = [`${tried.category}voucher-1`, 1n, links];
    const options = { resolveLinkTos: true };

    const [read] = await collected(tried.client.readAll({ ...options, fromPosition: position! }));
    expect(named(read!)).toEqual(followed);
    for (const subscription of [
      tried.client.subscribeToAll({ ...options, fromPosition: positions.at(-1)! }),
      tried.client.subscribeToStream(links, { ...options, fromRevision: START }),
    ]) {
      const { value } = await subscription[Symbol.asyncIterator]().next();
      expect(named(value as ResolvedEvent)).toEqual(followed);
      await subscription.unsubscribe();
    }
  });

  test.each([
    ['that takes too long', '(a+)+!'],
    ['that is too long', 'x'.repeat(1_001)],
    ['that is none', '(?<'],
  ])('not by an expression %s', async (_, regex) => {
    await begin(tried.client, `${tried.category}${'a'.repeat(60)}`, 1);

    const refused = caughtUp(positions[0]!, streamNameFilter({ regex }));
    await expect(refused).rejects.toThrow(/regular expression/);
    expect(await collected(tried.client.readAll({ maxCount: 1 }))).toHaveLength(1);
  });
});

/** What a filtered subscription brings after a position until it has caught up. */
async function caughtUp(
  after: Position,
  filter: Filter,
): Promise<{ seen: readonly AllStreamResolvedEvent[]; checkpoint: Position | undefined }> {
  const seen: AllStreamResolvedEvent[] = [];
  let checkpoint: Position | undefined;
  const subscription = tried.client.subscribeToAll({
    fromPosition: after,
    filter: { ...filter, checkpointReached: async (_, position) => void (checkpoint = position) },
  });
  subscription.on('data', (event: AllStreamResolvedEvent) => seen.push(event));
  try {
    await once(subscription, 'caughtUp');
    await new Promise(setImmediate);
    return { seen, checkpoint };
  } finally {
    await subscription.unsubscribe();
  }
}

function filterOf(on: 'stream' | 'type', by: readonly string[] | string): ReadReq.Options.FilterOptions {
  const expression = new ReadReq.Options.FilterOptions.Expression();
  if (typeof by === 'string') expression.setRegex(by);
  else expression.setPrefixList([...by]);
  const filter = new ReadReq.Options.FilterOptions().setCount(new Empty());
  return on === 'stream' ? filter.setStreamIdentifier(expression) : filter.setEventType(expression);
}

/** Ids of the events that a filtered read gives, which the client for Node.js does not offer. */
async function readFiltered(
  filter: ReadReq.Options.FilterOptions,
  backwards: boolean,
  { commit }: Position,
  count: number,
): Promise<readonly string[]> {
  const raw = new RawEsdb(tried.server.port);
  const { BACKWARDS: BACK, FORWARDS: ON } = ReadReq.Options.ReadDirection;
  const from = new ReadReq.Options.Position()
    .setCommitPosition(String(commit))
    .setPreparePosition(String(commit));
  try {
    const responses = await raw.read((options) =>
      options
        .setAll(new ReadReq.Options.AllOptions().setPosition(from))
        .setFilter(filter)
        .setReadDirection(backwards ? BACK : ON)
        .setCount(String(count)),
    );
    return responses.map((response) => response.getEvent()!.getEvent()!.getId()!.getString());
  } finally {
    raw.close();
  }
}

function isOwn(event: AllStreamResolvedEvent['event']): boolean {
  return event?.streamId.includes(tried.category) === true;
}
