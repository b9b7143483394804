import { Any } from 'google-protobuf/google/protobuf/any_pb';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { Code } from '@eventstore/db-client/generated/code_pb';
import * as shared from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { ServerRefusal, toIdentifier } from '../../../src/replay/client-values';

/** The state that a writer expects of a stream: a revision, that it does not exist, that it exists, or any. */
export type Expectation = number | 'none' | 'exists' | 'any';

/** Maximum bytes of data in one append to EventStoreDB, not counting metadata and types. */
export const APPEND_BYTES = 1024 * 1024;

/** The status of one append of a `BatchAppend` call: its code, and a message as details. */
interface Details {
  readonly code: keyof typeof Code;
  /** The message is `event_store.client.<name>`. */
  readonly name: string;
  readonly message: { serializeBinary(): Uint8Array };
}

/** A write that is refused. */
export class RefusedWrite extends ServerRefusal {
  override readonly name = 'RefusedWrite';
  constructor(
    [code, message, trailers]: ConstructorParameters<typeof ServerRefusal>,
    readonly details: Details,
  ) {
    super(code, message, trailers);
  }
}

/** The stream is not as the writer expected it. */
export class WrongVersion extends RefusedWrite {
  constructor(
    stream: string,
    readonly expected: Expectation,
    /** Revision of the stream's last event, -1 if it has none. */
    readonly actual: number,
  ) {
    const trailers = {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': String(versionOf(expected)),
      'actual-version': String(actual),
    };
    super(['FAILED_PRECONDITION', `${stream} is at revision ${actual}, not ${expected}`, trailers], {
      code: 'ALREADY_EXISTS',
      name: 'WrongExpectedVersion',
      message: wrongVersion(expected, actual),
    });
  }
}

export function streamDeleted(stream: string): RefusedWrite {
  const trailers = { exception: 'stream-deleted', 'stream-name': stream };
  return new RefusedWrite(['FAILED_PRECONDITION', `Event stream '${stream}' is deleted.`, trailers], {
    code: 'NOT_FOUND',
    name: 'StreamDeleted',
    message: new shared.StreamDeleted().setStreamIdentifier(toIdentifier(stream)),
  });
}

export function sizeExceeded(): RefusedWrite {
  const trailers = {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(APPEND_BYTES),
  };
  return new RefusedWrite(
    ['INVALID_ARGUMENT', `Maximum Append Size of ${APPEND_BYTES} Exceeded.`, trailers],
    {
      code: 'INVALID_ARGUMENT',
      name: 'MaximumAppendSizeExceeded',
      message: new shared.MaximumAppendSizeExceeded().setMaxappendsize(APPEND_BYTES),
    },
  );
}

export function propertyMissing(): RefusedWrite {
  const trailers = {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  };
  const message = 'An event needs the metadata type and content-type';
  return new RefusedWrite(['INVALID_ARGUMENT', message, trailers], badRequest(message));
}

export function timedOut(): RefusedWrite {
  return new RefusedWrite(['ABORTED', 'Operation timed out: Prepare phase timeout.'], {
    code: 'DEADLINE_EXCEEDED',
    name: 'Timeout',
    message: new shared.Timeout(),
  });
}

/**
 * An append that EventStoreDB fails at without validating it: a bad request in a batch, UNKNOWN in a call of its own.
 */
export function notAccepted(message: string): RefusedWrite {
  return new RefusedWrite(['UNKNOWN', message], badRequest(message));
}

/** Converts an error to the status of one append of a `BatchAppend` call. */
export function toStatus(error: unknown): Status {
  const { code, name, message } = detailsOf(error);
  const details = new Any();
  details.pack(message.serializeBinary(), `event_store.client.${name}`);
  const text = error instanceof ServerRefusal ? error.message : 'Unknown error';
  return new Status().setCode(Code[code]).setMessage(text).setDetails(details);
}

function detailsOf(error: unknown): Details {
  if (error instanceof RefusedWrite) return error.details;
  if (error instanceof ServerRefusal) return badRequest(error.message);
  return { code: 'UNKNOWN', name: 'Unknown', message: new shared.Unknown() };
}

function badRequest(message: string): Details {
  return {
    code: 'INVALID_ARGUMENT',
    name: 'BadRequest',
    message: new shared.BadRequest().setMessage(message),
  };
}

function wrongVersion(expected: Expectation, actual: number): shared.WrongExpectedVersion {
  const wrong = new shared.WrongExpectedVersion();
  if (actual < 0) wrong.setCurrentNoStream(new Empty());
  else wrong.setCurrentStreamRevision(String(actual));
  if (expected === 'any') return wrong.setExpectedAny(new Empty());
  if (expected === 'exists') return wrong.setExpectedStreamExists(new Empty());
  if (expected === 'none') return wrong.setExpectedNoStream(new Empty());
  return wrong.setExpectedStreamPosition(String(expected));
}

/** The number that the protocol uses for an expectation. */
function versionOf(expected: Expectation): number {
  if (typeof expected === 'number') return expected;
  return { none: -1, any: -2, exists: -4 }[expected];
}
