import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { EngineUnavailable } from '../kernel/event-log';

// Positions and ids, as clients send them and as the log stores them.

/** Clients expect times in units of 100 ns. */
export const TICKS_PER_MS = 10_000;

// Positions ---------------------------------------------------------------------------------------------------

/** The value that clients send for the end of the log or of a stream: all 64 bits set. */
export const END = '18446744073709551615';

/** The maximum signed 64-bit integer, the type of positions and revisions in EventStoreDB. */
const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Converts a position from a client; undefined for the end. Raises `Refusal`. */
export function toPosition(commit: string, prepare: string): Position | undefined {
  if (commit === END && prepare === END) return undefined;
  if (BigInt(commit) > MAX_INT64 || BigInt(prepare) > BigInt(commit))
    throw failing(`Position ${commit}/${prepare}: expected a prepare position up to the commit position`);
  return commit.padStart(START.length, '0');
}

/** Converts a revision from a client; undefined for the end. Raises `Refusal`. */
export function toRevision(revision: string): number | undefined {
  if (revision === END) return undefined;
  if (BigInt(revision) > MAX_INT64) throw failing(`Revision ${revision}: expected at most ${MAX_INT64}`);
  // Large values are beyond any stream, so rounding does not matter.
  return Math.min(Number(revision), Number.MAX_SAFE_INTEGER - 1);
}

/** Converts a position for a client. */
export function toOffset(position: Position): string {
  return position.replace(/^0+(?=.)/, '');
}

// Ids ---------------------------------------------------------------------------------------------------------

/** How a client requests ids: as text, or as two 64-bit numbers. */
export type IdEncoding = 'text' | 'numbers';

export function toUuid(id: string, encoding: IdEncoding): UUID {
  const uuid = new UUID();
  if (encoding === 'text') return uuid.setString(id);
  const digits = id.replaceAll('-', '');
  const structured = new UUID.Structured();
  structured.setMostSignificantBits(toInt64(digits.slice(0, 16)));
  structured.setLeastSignificantBits(toInt64(digits.slice(16)));
  return uuid.setStructured(structured);
}

function toInt64(digits: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digits}`)).toString();
}

/** The progress of a filtered subscription. If `prepare` is before `commit`, the event at `commit` is not included. */
export interface Checkpoint {
  readonly commit: Position;
  readonly prepare: Position;
}

export function eventMessage({ event, link }: ReadEvent, ids: IdEncoding): ReadResp {
  const read = new ReadResp.ReadEvent();
  if (event !== undefined) read.setEvent(recordOf(event, ids));
  if (link !== undefined) read.setLink(recordOf(link, ids));
  const original = link ?? event;
  if (original === undefined) read.setNoPosition(new Empty());
  else read.setCommitPosition(toOffset(original.position));
  return new ReadResp().setEvent(read);
}

export function checkpointMessage({ commit, prepare }: Checkpoint): ReadResp {
  const checkpoint = new ReadResp.Checkpoint()
    .setCommitPosition(toOffset(commit))
    .setPreparePosition(toOffset(prepare));
  return new ReadResp().setCheckpoint(checkpoint);
}

export function notFoundMessage(stream: string): ReadResp {
  const notFound = new ReadResp.StreamNotFound().setStreamIdentifier(toIdentifier(stream));
  return new ReadResp().setStreamNotFound(notFound);
}

function recordOf(event: ClientEvent, ids: IdEncoding): ReadResp.ReadEvent.RecordedEvent {
  const offset = toOffset(event.position);
  const record = new ReadResp.ReadEvent.RecordedEvent()
    .setId(toUuid(event.id, ids))
    .setStreamIdentifier(toIdentifier(event.stream))
    .setStreamRevision(event.revision)
    .setCommitPosition(offset)
    .setPreparePosition(offset)
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  record
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.json ? 'application/json' : 'application/octet-stream')
    .set('created', String((event.created ?? 0) * TICKS_PER_MS));
  return record;
}

/** An event as delivered to a client of EventStoreDB. */
export interface ClientEvent {
  readonly id: string;
  readonly type: string;
  /** Whether the content type is JSON, as opposed to any bytes. */
  readonly json: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly stream: string;
  /** Decimal, since that of a tombstone exceeds JavaScript's integers. */
  readonly revision: string;
  readonly position: string;
  /** Creation time (ms since 1970), if known. */
  readonly created: number | undefined;
  /** Of a link, the event that it points to, if that is known without reading it. */
  readonly target?: ClientEvent;
}

/** An event, or a link with its target, if that still exists. */
export interface ReadEvent {
  readonly event: ClientEvent | undefined;
  readonly link: ClientEvent | undefined;
}

export interface StreamPart {
  /** First revision to read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** A part of a stream, with the revisions of the first and the last event that are visible in the whole stream. */
export interface StreamRead {
  readonly events: AsyncIterable<readonly ClientEvent[]>;
  readonly first: number;
  readonly last: number;
}

/** What a follower of a stream gets next. */
export interface FollowedPart {
  readonly events: readonly ClientEvent[];
  /** It has everything that was in the stream. */
  readonly caughtUp: boolean;
}

/** Maximum events per read of the log, which blocks the thread. */
export const BATCH = 250;

/** An event of the program: JSON, with the time in its data. */
export function toClient({ id, type, stream, position, ...event }: RecordedEvent): ClientEvent {
  const [data, metadata] = [Buffer.from(event.data), Buffer.from(event.meta)];
  const revision = String(event.revision);
  return { id, type, json: true, data, metadata, stream, revision, position, created: timeIn(event.data) };
}

/** The time of the last `at` field in a JSON text (ms since 1970). */
export function timeIn(data: string): number | undefined {
  const from = data.lastIndexOf(AT);
  if (from < 0) return undefined;
  const time = TIME.exec(data.slice(from + AT.length, from + AT.length + 25));
  const at = time === null ? NaN : Date.parse(time[0]);
  return Number.isNaN(at) ? undefined : at;
}

const AT = '"at":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")/;

/** A refusal in the form of EventStoreDB: a status, and trailers that clients evaluate. */
export class ServerRefusal extends Error {
  override readonly name: string = 'ServerRefusal';
  constructor(
    readonly code: keyof typeof status,
    message: string,
    readonly trailers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** The request is malformed. */
export function invalid(message: string): ServerRefusal {
  return new ServerRefusal('INVALID_ARGUMENT', message);
}

/** For requests that fail inside EventStoreDB, which clients see as status UNKNOWN. */
export function failing(message: string): ServerRefusal {
  return new ServerRefusal('UNKNOWN', message);
}

export function accessDenied(): ServerRefusal {
  return new ServerRefusal('PERMISSION_DENIED', 'Access Denied', { exception: 'access-denied' });
}

/** Receives bugs of the program, as opposed to errors for clients. */
export type ReportBug = (error: unknown) => void;

/** Converts an error to the status and trailers of a call, from which official clients build their errors. */
export function toServiceError(error: unknown): ServiceError {
  const metadata = new Metadata();
  if (error instanceof ServerRefusal) {
    for (const [name, value] of Object.entries(error.trailers)) metadata.set(name, asciiOf(value));
    return failed(status[error.code], error.message, metadata);
  }
  if (error instanceof EngineUnavailable) return failed(status.UNAVAILABLE, error.message, metadata);
  return failed(status.UNKNOWN, 'Unknown error', metadata);
}

/** Encodes the name of a stream for a message. */
export function toIdentifier(stream: string): StreamIdentifier {
  return new StreamIdentifier().setStreamName(Buffer.from(stream));
}

/** Trailers are ASCII only. */
function asciiOf(name: string): string {
  return name.replace(/[^ -~]+/g, (text) => encodeURIComponent(text.toWellFormed()));
}

function failed(code: status, details: string, metadata: Metadata): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}
