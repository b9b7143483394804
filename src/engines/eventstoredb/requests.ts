import { Empty, StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type Position, START } from '../../kernel/event';

/** Events a server looks through, matching or not, until it reports how far it has come. */
const WINDOW = 256;

/** Streams that are not the server's own. */
const OWN = '^[^$]';

/** The most events a server can be asked for. */
const ALL = '9223372036854775807';

/** Asks a server that knows how to say where a stream ends even where nothing of it can be read. */
const SAYS_WHERE_STREAMS_END = 1;

/** The events of a stream from a revision on, or back from it; from its start or its end where none is given. */
export function streamRequest(
  stream: string,
  { from, backwards, limit }: { from: number | undefined; backwards: boolean; limit: number },
): ReadReq {
  const part = new ReadReq.Options.StreamOptions().setStreamIdentifier(
    new StreamIdentifier().setStreamName(Buffer.from(stream)),
  );
  if (from !== undefined) part.setRevision(String(from));
  else if (backwards) part.setEnd(new Empty());
  else part.setStart(new Empty());
  const control = new ReadReq.Options.ControlOption().setCompatibility(SAYS_WHERE_STREAMS_END);
  return request(backwards, (options) =>
    options.setStream(part).setCount(countOf(limit)).setNoFilter(new Empty()).setControlOption(control),
  );
}

/** So many events of the whole log before a position, or before its end, the last one first. */
export function backwardsRequest(before: Position | undefined, limit: number): ReadReq {
  return request(true, (options) =>
    options.setAll(allFrom(before)).setCount(countOf(limit)).setNoFilter(new Empty()),
  );
}

/** All events after a position, and those to come, of streams with one of the prefixes (at least one), or of all. */
export function followRequest(after: Position, prefixes: readonly string[] | undefined): ReadReq {
  // Not by the protocol's prefixes: the server compares those as its culture sorts words, by which "p-" begins no name that goes on with a combining mark.
  const regex = prefixes === undefined ? OWN : `^(?:${prefixes.map(escaped).join('|')})`;
  const filter = new ReadReq.Options.FilterOptions()
    .setStreamIdentifier(new ReadReq.Options.FilterOptions.Expression().setRegex(regex))
    .setMax(WINDOW)
    .setCheckpointintervalmultiplier(1);
  const subscription = new ReadReq.Options.SubscriptionOptions();
  return request(false, (options) =>
    options.setAll(allFrom(after)).setSubscription(subscription).setFilter(filter),
  );
}

function request(backwards: boolean, change: (options: ReadReq.Options) => ReadReq.Options): ReadReq {
  const { BACKWARDS, FORWARDS } = ReadReq.Options.ReadDirection;
  const options = new ReadReq.Options()
    .setReadDirection(backwards ? BACKWARDS : FORWARDS)
    .setUuidOption(new ReadReq.Options.UUIDOption().setString(new Empty()));
  return new ReadReq().setOptions(change(options));
}

/** What is written over gRPC is prepared where it is committed. */
function allFrom(position: Position | undefined): ReadReq.Options.AllOptions {
  if (position === undefined) return new ReadReq.Options.AllOptions().setEnd(new Empty());
  if (position === START) return new ReadReq.Options.AllOptions().setStart(new Empty());
  const offset = BigInt(position).toString();
  const place = new ReadReq.Options.Position().setCommitPosition(offset).setPreparePosition(offset);
  return new ReadReq.Options.AllOptions().setPosition(place);
}

function countOf(limit: number): string {
  return limit > Number.MAX_SAFE_INTEGER ? ALL : String(limit);
}

/** As a part of a regular expression, in the syntax that .NET and JavaScript share. */
function escaped(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}
