import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import fc from 'fast-check';
import { readAnswer } from '../../src/engines/eventstoredb/protocol';
import { backwardsRequest, followRequest, streamRequest } from '../../src/engines/eventstoredb/requests';
import { parseEsdbUrl } from '../../src/engines/eventstoredb/url';
import { cases } from '../support/size';

const { RecordedEvent } = ReadResp.ReadEvent;
const text = fc.string({ unit: 'grapheme' });
const number = fc.oneof(fc.nat(), fc.maxSafeNat());
const large = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

const record = fc.record({
  id: fc.uuid(),
  stream: text,
  revision: number,
  commit: large.map(String),
  type: text,
  created: number.map(String),
  data: text,
  meta: text,
});

/** As generated code encodes it, with fields that the log does not use. */
function encoded({ id, stream, revision, commit, type, created, data, meta }: Recorded): Buffer {
  const event = new RecordedEvent()
    .setId(new UUID().setString(id))
    .setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(stream)))
    .setStreamRevision(String(revision))
    .setCommitPosition(commit)
    .setPreparePosition(commit)
    .setData(Buffer.from(data))
    .setCustomMetadata(Buffer.from(meta));
  event.getMetadataMap().set('content-type', 'application/json').set('type', type).set('created', created);
  const part = new ReadResp.ReadEvent().setEvent(event).setLink(event).setNoPosition(new Empty());
  return Buffer.from(new ReadResp().setEvent(part).serializeBinary());
}

type Recorded = typeof record extends fc.Arbitrary<infer Value> ? Value : never;

test('an event is decoded as it was encoded, whatever it contains', () => {
  const check = fc.property(record, (sent) => {
    const { event } = readAnswer(encoded(sent));
    expect({ ...event, data: event?.data.toString(), meta: event?.meta.toString() }).toEqual(sent);
  });
  fc.assert(check, { numRuns: cases(200, 100) });
});

test('a message that is cut off anywhere, but between its fields, is refused', () => {
  const check = fc.property(record, fc.nat(), (sent, at) => {
    const bytes = encoded(sent);
    expect(() => readAnswer(bytes.subarray(0, 1 + (at % (bytes.length - 1))))).toThrow('is cut off');
  });
  fc.assert(check, { numRuns: cases(200, 100) });
});

test('requests are decoded as they were encoded, up to the largest numbers', () => {
  const check = fc.property(text, number, large, fc.boolean(), (name, from, position, backwards) => {
    const after = String(position).padStart(19, '0');
    const [stream, all, tail] = [
      streamRequest(name, { from, backwards, limit: Infinity }),
      backwardsRequest(after, from),
      followRequest(after, name),
    ].map((request) => ReadReq.deserializeBinary(new Uint8Array(request)).getOptions()!);
    expect(Buffer.from(stream!.getStream()!.getStreamIdentifier()!.getStreamName_asU8()).toString()).toBe(
      name,
    );
    expect(stream!.getStream()!.getRevision()).toBe(String(from));
    expect(stream!.getReadDirection()).toBe(backwards ? 1 : 0);
    expect(stream!.getCount()).toBe(String(2n ** 63n - 1n));
    expect(all!.getCount()).toBe(String(from));
    expect(tail!.hasSubscription()).toBe(true);
    expect(tail!.getFilter()!.getStreamIdentifier()!.getRegex()).toBe(name);
    for (const options of [all, tail])
      if (position > 0n) expect(options!.getAll()!.getPosition()!.getCommitPosition()).toBe(String(position));
      else expect(options!.getAll()!.hasStart()).toBe(true);
  });
  fc.assert(check, { numRuns: cases(200, 100) });
});

describe('A URL of EventStoreDB', () => {
  test.each([
    ['esdb://host', [['host', 2113]], undefined],
    ['esdb://me:s%40:c?ret@host:1/?tls=false', [['host', 1]], { name: 'me', password: 's@:c?ret' }],
    [
      'esdb://a,b_1:7,[::1]:8?maxDiscoverAttempts=3',
      [
        ['a', 2113],
        ['b_1', 7],
        ['::1', 8],
      ],
      undefined,
    ],
    ['esdb+discover://a:1,b:2', [['a', 1]], undefined],
  ])('%s', (url, endpoints, user) => {
    const parsed = parseEsdbUrl(url);
    expect(parsed.endpoints.map(({ address, port }) => [address, port])).toEqual(endpoints);
    expect(parsed.user).toEqual(user);
  });

  test.each([
    ['esdb://', 'expected esdb://['],
    ['esdb://a,', 'expected esdb://['],
    ['esdb://a:65536', 'expected esdb://['],
    ['esdb://a:1:2', 'expected esdb://['],
    ['esdb://a?tls=perhaps', 'tls: expected true or false'],
    ['esdb://a?gossipTimeout=soon', 'gossipTimeout: expected an integer'],
    ['esdb://a?nodePreference=best', 'nodePreference: expected leader, follower'],
    ['esdb://%zz:b@a', 'the user: expected a percent-encoded value'],
  ])('%s is refused: %s', (url, message) => {
    expect(() => parseEsdbUrl(url)).toThrow(message);
  });
});
