import { isUtf8 } from 'node:buffer';
import { type StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type Position, START } from '../../kernel/event';
import { expressionOf, type Filter } from './filter';
import { toPosition } from './position';
import { Refusal } from './refusal';
import { type IdEncoding } from './uuid';

/** Where to begin. */
type From =
  | {
      readonly stream: string;
      /** Revision of the first event wanted; undefined for the stream's end. */
      readonly revision: number | undefined;
    }
  | {
      readonly stream: undefined;
      /** A position of the log, which is what the event there is called by; undefined for the log's end. */
      readonly position: Position | undefined;
    };

/** What a `Read` call asks for. */
export interface ReadOptions {
  /** The stream to be read, or all of them. */
  readonly from: From;
  readonly backwards: boolean;
  /** Most events to be read; undefined for a subscription. */
  readonly count: number | undefined;
  readonly filter: Filter | undefined;
  /** Events that a filtered subscription looks through until it tells how far it has come. */
  readonly interval: number;
  readonly resolveLinks: boolean;
  readonly ids: IdEncoding;
}

/** Raises `Refusal` where the request says something that cannot be. */
export function readOptions(request: ReadReq): ReadOptions {
  const options = request.getOptions();
  if (options === undefined) throw invalid('options are missing');
  const uuids = options.getUuidOption();
  if (uuids === undefined) throw invalid('uuid_option is missing');
  const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
  const filter = filterOf(options.getFilter());
  const subscription = options.hasSubscription();
  const from = fromOf(options, subscription);
  if (from.stream !== undefined && filter !== undefined) throw invalid('a filter is for all streams only');
  if (subscription && backwards) throw invalid('a subscription goes forwards only');
  return {
    from,
    backwards,
    count: subscription ? undefined : Number(options.getCount()),
    filter,
    interval: intervalOf(options.getFilter()),
    resolveLinks: options.getResolveLinks(),
    ids: uuids.hasString() ? 'text' : 'numbers',
  };
}

/** The name of a stream that is not nothing. Raises `Refusal`. */
export function streamName(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []);
  if (name.length === 0) throw invalid('the name of the stream is missing');
  // Read all the same, names that differ could be one.
  if (!isUtf8(name)) throw invalid('the name of the stream is not in UTF-8');
  return name.toString('utf8');
}

function fromOf(options: ReadReq.Options, subscription: boolean): From {
  const of = options.getStream();
  if (of !== undefined) {
    const stream = streamName(of.getStreamIdentifier());
    if (of.hasEnd()) return { stream, revision: undefined };
    if (!of.hasRevision()) return { stream, revision: 0 };
    // A subscription begins after what it names. What is beyond all revisions is as far away when it is rounded.
    const revision = Number(of.getRevision()) + (subscription ? 1 : 0);
    return { stream, revision: Math.min(revision, Number.MAX_SAFE_INTEGER) };
  }
  const all = options.getAll();
  if (all === undefined) throw invalid('neither a stream nor all of them');
  const offset = all.getPosition()?.getCommitPosition();
  if (offset !== undefined) return { stream: undefined, position: toPosition(offset) };
  return { stream: undefined, position: all.hasEnd() ? undefined : START };
}

function filterOf(filter: ReadReq.Options.FilterOptions | undefined): Filter | undefined {
  if (filter === undefined) return undefined;
  const ofStream = filter.getStreamIdentifier();
  const expression = ofStream ?? filter.getEventType();
  if (expression === undefined) throw invalid('a filter is by stream or by type');
  const source = expression.getRegex();
  return {
    on: ofStream === undefined ? 'type' : 'stream',
    by: source === '' ? expression.getPrefixList() : expressionOf(source),
  };
}

/** Told in two numbers of which one may be left to the server. */
function intervalOf(filter: ReadReq.Options.FilterOptions | undefined): number {
  const window = filter?.hasMax() === true ? filter.getMax() : WINDOW;
  return Math.max(1, window * (filter?.getCheckpointintervalmultiplier() ?? 1));
}

/** Events that the official server looks through at a time. */
const WINDOW = 32;

function invalid(message: string): Refusal {
  return new Refusal({ kind: 'invalid', message });
}
