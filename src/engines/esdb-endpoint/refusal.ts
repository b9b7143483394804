import { StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { EngineUnavailable } from '../../kernel/event-log';

/** A call that is refused the way EventStoreDB refuses it: a status, and trailers that clients read. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  constructor(
    readonly code: keyof typeof status,
    message: string,
    readonly trailers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** The request is malformed: `message` names what is wrong. */
export function invalid(message: string): Refusal {
  return new Refusal('INVALID_ARGUMENT', message);
}

/** EventStoreDB raises an error of its own here, which clients know as unknown; `message` explains it. */
export function failing(message: string): Refusal {
  return new Refusal('UNKNOWN', message);
}

export function streamDeleted(stream: string): Refusal {
  return new Refusal('FAILED_PRECONDITION', `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });
}

export function accessDenied(): Refusal {
  return new Refusal('PERMISSION_DENIED', 'Access Denied', { exception: 'access-denied' });
}

/** Receives errors that are bugs of the program, not answers to a client. */
export type Report = (error: unknown) => void;

/** An error as the status and trailers of a call, from which official clients make their errors. */
export function toServiceError(error: unknown): ServiceError {
  const metadata = new Metadata();
  if (error instanceof Refusal) {
    for (const [name, value] of Object.entries(error.trailers)) metadata.set(name, asciiOf(value));
    return failed(status[error.code], error.message, metadata);
  }
  if (error instanceof EngineUnavailable) return failed(status.UNAVAILABLE, error.message, metadata);
  return failed(status.UNKNOWN, 'Unknown error', metadata);
}

/** The name of a stream as messages hold it. */
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
