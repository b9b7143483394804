import { isUtf8 } from 'node:buffer';
import { type StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type Position, START } from '../kernel/event';
import { expressionOf, type FilterCriteria } from './event-filter';
import { type IdEncoding, toPosition, toRevision } from './client-values';
import { failing, invalid } from './refusal';

/** Where in the log to start. */
export interface Start {
  /** Position of an event; `START` for before all events, undefined for the log's end. */
  readonly position: Position | undefined;
  /** Whether a subscription includes the event at the position. */
  readonly inclusive: boolean;
}

type From =
  | {
      readonly stream: string;
      /** First revision to read; undefined for the end of the stream. */
      readonly revision: number | undefined;
    }
  | ({ readonly stream: undefined } & Start);

export interface ClientReadOptions {
  readonly from: From;
  readonly backwards: boolean;
  /** Maximum events to read; undefined for a subscription. */
  readonly count: number | undefined;
  readonly filter: FilterCriteria | undefined;
  readonly pace: Pace;
  readonly resolveLinks: boolean;
  readonly ids: IdEncoding;
  /** Compatibility level of the client: from 1 on it receives the first and the last revision of a stream. */
  readonly compatibility: number;
}

/** How often a filtered subscription sends checkpoints. */
export interface Pace {
  /** Maximum events considered per page. */
  readonly window: number;
  /** Events considered between two checkpoints. */
  readonly interval: number;
}

/** Parses a request. Raises `Refusal` if it is invalid. */
export function readOptions(request: ReadReq): ClientReadOptions {
  const options = request.getOptions();
  if (options === undefined) throw invalid('options are missing');
  const uuids = options.getUuidOption();
  if (uuids === undefined) throw invalid('uuid_option is missing');
  const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
  const filter = filterOf(options.getFilter());
  const subscription = options.hasSubscription();
  const from = fromOf(options, subscription);
  if (from.stream !== undefined && filter !== undefined)
    throw invalid('a filter requires a read of all streams');
  if (subscription && backwards) throw invalid('a subscription must read forwards');
  if (subscription && options.getFilter()?.getCheckpointintervalmultiplier() === 0)
    throw failing('checkpointIntervalMultiplier 0: expected at least 1');
  const count = subscription ? undefined : Number(options.getCount());
  if (from.stream !== undefined && count === 0) throw failing('count 0: expected at least 1 for a stream');
  return {
    from,
    backwards,
    count,
    filter,
    pace: paceOf(options.getFilter()),
    resolveLinks: options.getResolveLinks(),
    ids: uuids.hasString() ? 'text' : 'numbers',
    compatibility: options.getControlOption()?.getCompatibility() ?? 0,
  };
}

/** The name of a stream; empty if there is none. Raises `Refusal`. */
export function streamName(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []);
  // Lenient decoding could map different names to the same one.
  if (!isUtf8(name)) throw invalid('the name of the stream is not in UTF-8');
  return name.toString('utf8');
}

function fromOf(options: ReadReq.Options, subscription: boolean): From {
  const of = options.getStream();
  if (of !== undefined) {
    const stream = streamName(of.getStreamIdentifier());
    if (stream === '') throw failing('The name of the stream is missing');
    if (of.hasEnd()) return { stream, revision: undefined };
    const revision = of.hasRevision() ? toRevision(of.getRevision()) : 0;
    // A subscription starts after the given revision.
    const first = revision !== undefined && subscription && of.hasRevision() ? revision + 1 : revision;
    return { stream, revision: first };
  }
  const all = options.getAll();
  if (all === undefined) throw invalid('expected a stream or all streams');
  const at = all.getPosition();
  if (at === undefined)
    return { stream: undefined, position: all.hasEnd() ? undefined : START, inclusive: true };
  const [commit, prepare] = [at.getCommitPosition(), at.getPreparePosition()];
  return { stream: undefined, position: toPosition(commit, prepare), inclusive: prepare !== commit };
}

function filterOf(filter: ReadReq.Options.FilterOptions | undefined): FilterCriteria | undefined {
  if (filter === undefined) return undefined;
  const ofStream = filter.getStreamIdentifier();
  const expression = ofStream ?? filter.getEventType();
  if (expression === undefined) throw invalid('expected a filter by stream or by type');
  const source = expression.getRegex();
  return {
    on: ofStream === undefined ? 'type' : 'stream',
    by: source === '' ? expression.getPrefixList() : expressionOf(source),
  };
}

/** Clients may leave the window to the server. */
function paceOf(filter: ReadReq.Options.FilterOptions | undefined): Pace {
  const window = Math.max(1, filter?.hasMax() === true ? filter.getMax() : PAGE);
  return { window, interval: window * (filter?.getCheckpointintervalmultiplier() ?? 1) };
}

/** Maximum matching events per page. */
export const PAGE = 32;
