import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  END,
  eventTypeFilter,
  EventStoreDBClient,
  excludeSystemEvents,
  type Filter,
  FORWARDS,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { begin, collected, happened } from '../support/esdb-events';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';

let server: EsdbServer;
let client: EventStoreDBClient;
/** A name that the streams of this test begin with. */
let category: string;

beforeAll(async () => {
  server = await startEsdbServer();
  client = EventStoreDBClient.connectionString(server.url);
});
afterAll(async () => {
  await client.dispose();
  await server.stop();
});
beforeEach(() => {
  category = `tried${randomUUID().slice(0, 8)}`;
});

describe('all streams', () => {
  let positions: readonly Position[];

  beforeEach(async () => {
    await begin(client, `${category}feed-1`, 3, 'ProductListed');
    await begin(client, `${category}feeds-1`, 2, 'ProductRevised');
    await begin(client, `${category}voucher-1`, 2, 'VoucherListed');
    await client.setStreamMetadata(`${category}feed-1`, { maxCount: 1 });
    const own = await collected(client.readAll());
    positions = own.filter(({ event }) => isOwn(event)).map(({ event }) => event!.position);
  });

  test('are read from a position, which is the first, and backwards from before one', async () => {
    expect(positions).toHaveLength(8);
    const forwards = await collected(client.readAll({ fromPosition: positions[2]!, maxCount: 3 }));
    const backwards = await collected(
      client.readAll({ direction: BACKWARDS, fromPosition: positions[5]!, maxCount: 3 }),
    );
    const last = await collected(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }));

    expect(forwards.map(({ event }) => event!.position)).toEqual(positions.slice(2, 5));
    expect(backwards.map(({ event }) => event!.position)).toEqual(positions.slice(2, 5).toReversed());
    expect(last.map(({ event }) => event!.streamId)).toEqual([`$$${category}feed-1`]);
    expect(await collected(client.readAll({ direction: FORWARDS, fromPosition: END }))).toEqual([]);
    expect(await collected(client.readAll({ direction: BACKWARDS, fromPosition: START }))).toEqual([]);
  });

  test.each<[string, () => Filter, readonly string[]]>([
    [
      'streams with a prefix',
      () => streamNameFilter({ prefixes: [`${category}feed`] }),
      ['feed', 'feed', 'feeds', 'feeds'],
    ],
    [
      'streams with one of some',
      () => streamNameFilter({ prefixes: [`${category}feed-`, `${category}v`] }),
      ['feed', 'feed', 'voucher', 'voucher'],
    ],
    ['metadata of streams', () => streamNameFilter({ prefixes: [`$$${category}`] }), ['$$feed']],
    [
      'streams that match',
      () => streamNameFilter({ regex: `^${category}(feed|voucher)-\\d+$` }),
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

    expect(seen.map(({ event }) => event!.streamId.replace(category, '').replace(/-1$/, ''))).toEqual(names);
    const [last] = await collected(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }));
    expect(checkpoint ?? seen.at(-1)!.event!.position).toEqual(last!.event!.position);
  });

  test('filtered, live: what comes, and from time to time how far the log has come without it', async () => {
    const checkpoints: Position[] = [];
    const told = new EventEmitter();
    const filter = streamNameFilter({
      prefixes: [`${category}own`],
      maxSearchWindow: 2,
      checkpointInterval: 3,
      checkpointReached: async (_, position) => {
        checkpoints.push(position);
        told.emit('told');
      },
    });
    const subscription = client.subscribeToAll({ fromPosition: END, filter });
    const next = subscription[Symbol.asyncIterator]().next();
    await once(subscription, 'caughtUp');
    const others: Position[] = [];
    for (let n = 0; n < 13; n += 1)
      others.push((await client.appendToStream(`${category}other`, happened())).position!);
    while (checkpoints.length < 2) await once(told, 'told');
    const own = await client.appendToStream(`${category}own`, happened());

    expect(((await next).value as AllStreamResolvedEvent).event!.position).toEqual(own.position);
    expect(checkpoints).toEqual([others[5], others[11]]);
    await subscription.unsubscribe();
  });

  test.each([
    ['that takes too long', '(a+)+!'],
    ['that is too long', 'x'.repeat(1_001)],
    ['that is none', '(?<'],
  ])('not by an expression %s', async (_, regex) => {
    await begin(client, `${category}${'a'.repeat(60)}`, 1);

    const refused = caughtUp(positions[0]!, streamNameFilter({ regex }));
    await expect(refused).rejects.toThrow(/regular expression/);
    expect(await collected(client.readAll({ maxCount: 1 }))).toHaveLength(1);
  });
});

/** What a filtered subscription brings after a position until it has caught up. */
async function caughtUp(
  after: Position,
  filter: Filter,
): Promise<{ seen: readonly AllStreamResolvedEvent[]; checkpoint: Position | undefined }> {
  const seen: AllStreamResolvedEvent[] = [];
  let checkpoint: Position | undefined;
  const subscription = client.subscribeToAll({
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

function isOwn(event: AllStreamResolvedEvent['event']): boolean {
  return event?.streamId.includes(category) === true;
}
