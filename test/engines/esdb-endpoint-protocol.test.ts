import { randomUUID } from 'node:crypto';
import { EventStoreDBClient } from '@eventstore/db-client';
import { Empty, StreamIdentifier, type UUID } from '@eventstore/db-client/generated/shared_pb';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { credentials, status } from '@grpc/grpc-js';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { NO_STREAM } from '../../src/kernel/event';
import { collected, happened } from '../support/esdb-events';
import { triedEsdb } from '../support/trying-esdb';

const tried = triedEsdb();

test.each(['text', 'numbers'] as const)('ids come as the client wants them: as %s', async (encoding) => {
  const event = happened();
  await tried.client.appendToStream(tried.stream, event);
  const uuids = new ReadReq.Options.UUIDOption();
  if (encoding === 'text') uuids.setString(new Empty());
  else uuids.setStructured(new Empty());
  const id = (await readRaw(uuids)).at(0)!.getEvent()!.getEvent()!.getId()!;

  expect(id.hasString()).toBe(encoding === 'text');
  expect(textOf(id)).toBe(event.id);
});

test.each<[string, (options: ReadReq.Options) => unknown]>([
  ['without an encoding of ids', (options) => options.clearUuidOption()],
  ['of nothing', (options) => options.clearStream()],
  [
    'of a stream without a name',
    (options) => options.getStream()!.setStreamIdentifier(new StreamIdentifier()),
  ],
  ['of a stream by a filter', (options) => options.setFilter(new ReadReq.Options.FilterOptions())],
  [
    'of a subscription backwards',
    (options) =>
      options
        .setSubscription(new ReadReq.Options.SubscriptionOptions())
        .setReadDirection(ReadReq.Options.ReadDirection.BACKWARDS),
  ],
])('a read %s is refused', async (_, spoil) => {
  const uuids = new ReadReq.Options.UUIDOption().setString(new Empty());

  await expect(readRaw(uuids, spoil)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
});

test('a client that looks for a cluster finds this node alone', async () => {
  const discovering = EventStoreDBClient.connectionString(
    `esdb+discover://127.0.0.1:${tried.server.port}?tls=false`,
  );
  expect(await discovering.appendToStream(tried.stream, happened())).toMatchObject({ success: true });
  await discovering.dispose();
});

describe('read-only', () => {
  const only = triedEsdb('read-only');

  test.each<[string, () => Promise<unknown>]>([
    ['an append', () => only.client.appendToStream(only.stream, happened())],
    [
      'an append by itself',
      () =>
        only.client.appendToStream(only.stream, happened(), {
          credentials: { username: 'admin', password: 'changeit' },
        }),
    ],
    ['metadata', () => only.client.setStreamMetadata(only.stream, {})],
    ['a deletion', () => only.client.deleteStream(only.stream)],
    ['a tombstone', () => only.client.tombstoneStream(only.stream)],
  ])('refuses %s as something that this client may not do', async (_, write) => {
    await expect(write()).rejects.toMatchObject({ type: 'access-denied' });
    expect(await collected(only.client.readAll())).toEqual([]);
  });

  test('refuses every append of many, and goes on answering', async () => {
    const appends = Array.from({ length: 200 }, (_, n) =>
      only.client.appendToStream(`${only.stream}${n}`, happened()),
    );

    for (const append of await Promise.allSettled(appends))
      expect(append).toMatchObject({ status: 'rejected', reason: { type: 'access-denied' } });
  });

  test('shows what the program itself appends, with the time and the names it has', async () => {
    const { log } = await openLog(only.server.file, false);
    const data = { price: 9990, at: '2026-01-07T08:00:00.000Z' };
    const event = { id: randomUUID(), type: 'ProductRepriced', data: JSON.stringify(data), meta: '{}' };
    const { position } = await log.append('feed-301', NO_STREAM, [event]);
    await log.close();

    const [read] = await collected(only.client.readStream('feed-301'));
    expect(read!.event).toMatchObject({
      streamId: 'feed-301',
      id: event.id,
      revision: 0n,
      type: 'ProductRepriced',
      isJson: true,
      data,
      metadata: {},
      created: new Date(data.at),
      position: { commit: BigInt(position), prepare: BigInt(position) },
    });
  });
});

/** A read of the stream as clients of other languages make it. */
async function readRaw(
  uuids: ReadReq.Options.UUIDOption,
  change: (options: ReadReq.Options) => unknown = () => undefined,
): Promise<readonly ReadResp[]> {
  const of = new ReadReq.Options.StreamOptions().setStart(new Empty());
  of.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(tried.stream)));
  const options = new ReadReq.Options().setStream(of).setCount('10').setNoFilter(new Empty());
  change(options.setUuidOption(uuids));
  const raw = new StreamsClient(`127.0.0.1:${tried.server.port}`, credentials.createInsecure());
  try {
    const responses: ReadResp[] = [];
    for await (const response of raw.read(new ReadReq().setOptions(options)))
      responses.push(response as ReadResp);
    return responses;
  } finally {
    raw.close();
  }
}

function textOf(id: UUID): string {
  const numbers = id.getStructured();
  if (numbers === undefined) return id.getString();
  const digits = [numbers.getMostSignificantBits(), numbers.getLeastSignificantBits()].map((number) =>
    BigInt.asUintN(64, BigInt(number)).toString(16).padStart(16, '0'),
  );
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
