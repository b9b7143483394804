import { StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { EngineUnavailable } from '../kernel/event-log';

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
