import { Any } from 'google-protobuf/google/protobuf/any_pb';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { Code } from '@eventstore/db-client/generated/code_pb';
import * as shared from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { APPEND_LIMITS, EngineUnavailable } from '../../kernel/event-log';

/** What a writer expects a stream to be: at a revision, missing, there, or anything. */
export type Expectation = number | 'none' | 'exists' | 'any';

/** Why a call is refused, in the terms of EventStoreDB. */
export type Reason =
  | {
      readonly kind: 'wrong-expected-version';
      readonly stream: string;
      readonly expected: Expectation;
      /** Revision of the stream's last event, -1 if it has none. */
      readonly actual: number;
    }
  | { readonly kind: 'stream-deleted'; readonly stream: string }
  | { readonly kind: 'access-denied' }
  | { readonly kind: 'maximum-append-size-exceeded' }
  | { readonly kind: 'missing-required-metadata-property' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'invalid'; readonly message: string };

/** A call that is refused; told to the client as the official server would. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(readonly reason: Reason) {
    super(textOf(reason));
  }
}

/** Told of errors that are no answer to the client: faults of the program. */
export type Report = (error: unknown) => void;

/** An error as the status and trailers of a call, from which official clients make their errors. */
export function toServiceError(error: unknown): ServiceError {
  const metadata = new Metadata();
  if (!(error instanceof Refusal)) {
    const code = error instanceof EngineUnavailable ? status.UNAVAILABLE : status.UNKNOWN;
    return failed(code, error instanceof EngineUnavailable ? error.message : 'Unknown error', metadata);
  }
  const { reason } = error;
  if (!UNNAMED.has(reason.kind)) metadata.set('exception', reason.kind);
  if ('stream' in reason) metadata.set('stream-name', asciiOf(reason.stream));
  if (reason.kind === 'wrong-expected-version') {
    metadata.set('expected-version', String(versionOf(reason.expected)));
    metadata.set('actual-version', String(reason.actual));
  }
  if (reason.kind === 'maximum-append-size-exceeded')
    metadata.set('maximum-append-size', String(APPEND_LIMITS.bytes));
  if (reason.kind === 'missing-required-metadata-property')
    metadata.set('required-metadata-properties', 'type,content-type');
  return failed(status[CODES[reason.kind]], error.message, metadata);
}

/** An error as the status of one append among those of a `BatchAppend` call. */
export function toStatus(error: unknown): Status {
  const answer = new Status();
  const details = new Any();
  if (error instanceof Refusal) {
    const [name, message] = detailsOf(error.reason);
    details.pack(message.serializeBinary(), `event_store.client.${name}`);
    answer.setMessage(error.message);
    answer.setCode(Code[CODES[error.reason.kind]]);
  } else {
    details.pack(new shared.Unknown().serializeBinary(), 'event_store.client.Unknown');
    answer.setMessage(error instanceof EngineUnavailable ? error.message : 'Unknown error');
    answer.setCode(Code.UNKNOWN);
  }
  return answer.setDetails(details);
}

const CODES = {
  'wrong-expected-version': 'FAILED_PRECONDITION',
  'stream-deleted': 'FAILED_PRECONDITION',
  'access-denied': 'PERMISSION_DENIED',
  'maximum-append-size-exceeded': 'INVALID_ARGUMENT',
  'missing-required-metadata-property': 'INVALID_ARGUMENT',
  timeout: 'ABORTED',
  invalid: 'INVALID_ARGUMENT',
} as const satisfies Readonly<Record<Reason['kind'], keyof typeof status>>;

/** Those for which the status alone says it all. */
const UNNAMED: ReadonlySet<Reason['kind']> = new Set(['timeout', 'invalid']);

function detailsOf(reason: Reason): readonly [name: string, message: { serializeBinary(): Uint8Array }] {
  switch (reason.kind) {
    case 'wrong-expected-version':
      return ['WrongExpectedVersion', wrongExpectedVersion(reason.expected, reason.actual)];
    case 'stream-deleted':
      return ['StreamDeleted', new shared.StreamDeleted().setStreamIdentifier(toIdentifier(reason.stream))];
    case 'access-denied':
      return ['AccessDenied', new shared.AccessDenied()];
    case 'maximum-append-size-exceeded': {
      const exceeded = new shared.MaximumAppendSizeExceeded();
      return ['MaximumAppendSizeExceeded', exceeded.setMaxappendsize(APPEND_LIMITS.bytes)];
    }
    case 'timeout':
      return ['Timeout', new shared.Timeout()];
    case 'missing-required-metadata-property':
    case 'invalid':
      return ['BadRequest', new shared.BadRequest().setMessage(textOf(reason))];
  }
}

function wrongExpectedVersion(expected: Expectation, actual: number): shared.WrongExpectedVersion {
  const wrong = new shared.WrongExpectedVersion();
  if (actual < 0) wrong.setCurrentNoStream(new Empty());
  else wrong.setCurrentStreamRevision(String(actual));
  if (expected === 'any') return wrong.setExpectedAny(new Empty());
  if (expected === 'exists') return wrong.setExpectedStreamExists(new Empty());
  if (expected === 'none') return wrong.setExpectedNoStream(new Empty());
  return wrong.setExpectedStreamPosition(String(expected));
}

/** The name of a stream as messages hold it. */
export function toIdentifier(stream: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}

function textOf(reason: Reason): string {
  switch (reason.kind) {
    case 'wrong-expected-version':
      return `${reason.stream} is at revision ${reason.actual}, not ${reason.expected}`;
    case 'stream-deleted':
      return `Event stream '${reason.stream}' is deleted.`;
    case 'access-denied':
      return 'Access Denied';
    case 'maximum-append-size-exceeded':
      return `An append holds at most ${APPEND_LIMITS.bytes} bytes and ${APPEND_LIMITS.events} events`;
    case 'missing-required-metadata-property':
      return 'An event needs the metadata type and content-type';
    case 'timeout':
      return 'Operation timed out';
    case 'invalid':
      return reason.message;
  }
}

/** What the protocol calls an expectation where it has but a number for it. */
function versionOf(expected: Expectation): number {
  if (typeof expected === 'number') return expected;
  return { none: -1, any: -2, exists: -4 }[expected];
}

/** Trailers are ASCII only. */
function asciiOf(name: string): string {
  return name.replace(/[^ -~]+/g, (text) => encodeURIComponent(text.toWellFormed()));
}

function failed(code: status, details: string, metadata: Metadata): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}
