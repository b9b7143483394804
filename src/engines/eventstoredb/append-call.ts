import { randomUUID } from 'node:crypto';
import { StreamIdentifier, UUID, WrongExpectedVersion } from '@eventstore/db-client/generated/shared_pb';
import { type Status } from '@eventstore/db-client/generated/status_pb';
import { BatchAppendReq, type BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type ClientDuplexStream } from '@grpc/grpc-js';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { NO_STREAM, type NewEvent, type Position } from '../../kernel/event';
import { RevisionConflict, StreamDeleted, UnacceptableAppend } from '../../kernel/event-log';
import { toPosition } from './sent-event';
import { NoAnswer, Refused } from './failure';

export interface Append {
  readonly stream: string;
  readonly expected: number;
  readonly events: readonly NewEvent[];
}

/** The end of the stream after an append. */
export interface AppendResult {
  readonly revision: number;
  /** Unknown if the append was made earlier and the stream was truncated since. */
  readonly position: Position | undefined;
}

interface Pending {
  readonly append: Append;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
}

type Call = ClientDuplexStream<BatchAppendReq, BatchAppendResp>;

/** One call for any number of appends. The server answers each of them separately. */
export class AppendCall {
  readonly #pending = new Map<string, Pending>();
  #failure: Error | undefined;

  constructor(private readonly call: Call) {
    call.on('data', (answer: BatchAppendResp) => this.#answer(answer));
    call.on('error', (error) => this.#fail(error));
    call.on('end', () => this.#fail(new NoAnswer('it ended the appends')));
  }

  /** The call has ended and accepts no more appends. */
  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Raises `RevisionConflict`, `StreamDeleted` or `UnacceptableAppend`. If the call ends, raises its error: the outcome is
   * unknown then. An answer may never come, so callers need a time-out.
   */
  async append(append: Append): Promise<AppendResult> {
    return await new Promise<AppendResult>((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      const id = randomUUID();
      const request = requestOf(id, append);
      this.#pending.set(id, { append, resolve, reject });
      this.call.write(request);
    });
  }

  /** Ends the call; pending appends fail. */
  cancel(): void {
    this.#fail(new NoAnswer('it was closed'));
    this.call.cancel();
  }

  #answer(answer: BatchAppendResp): void {
    const id = answer.getCorrelationId()?.getString() ?? '';
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    const success = answer.getSuccess();
    if (success === undefined) {
      pending.reject(toPortError(answer.getError(), pending.append));
      return;
    }
    const offset = success.getPosition()?.getCommitPosition();
    pending.resolve({
      revision: Number(success.getCurrentRevision()),
      position: offset === undefined ? undefined : toPosition(offset),
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

/**
 * Sets no deadline. The protocol's deadline is a time of day, so a slow clock would make every append fail; the server has its
 * own time-out.
 */
function requestOf(id: string, { stream, expected, events }: Append): BatchAppendReq {
  const options = new BatchAppendReq.Options().setStreamIdentifier(
    new StreamIdentifier().setStreamName(Buffer.from(stream)),
  );
  if (expected === NO_STREAM) options.setNoStream(new Empty());
  else options.setStreamPosition(String(expected));
  return new BatchAppendReq()
    .setCorrelationId(new UUID().setString(id))
    .setOptions(options)
    .setProposedMessagesList(events.map(proposed))
    .setIsFinal(true);
}

function proposed({ id, type, data, meta }: NewEvent): BatchAppendReq.ProposedMessage {
  const message = new BatchAppendReq.ProposedMessage()
    .setId(new UUID().setString(id))
    .setData(Buffer.from(data))
    .setCustomMetadata(Buffer.from(meta));
  message.getMetadataMap().set('type', type).set('content-type', 'application/json');
  return message;
}

/** Translates the server's error for an append that it did not make, or not yet. */
function toPortError(error: Status | undefined, { stream, expected }: Append): Error {
  const details = error?.getDetails();
  const kind = (details?.getTypeName() ?? '').replace('event_store.client.', '');
  const unpackConflict = (): WrongExpectedVersion | null | undefined =>
    details?.unpack(
      (bytes) => WrongExpectedVersion.deserializeBinary(bytes),
      'event_store.client.WrongExpectedVersion',
    );
  switch (kind) {
    case 'WrongExpectedVersion': {
      const conflict = unpackConflict();
      const exists = conflict?.hasCurrentStreamRevision() === true;
      return new RevisionConflict(
        stream,
        expected,
        exists ? Number(conflict.getCurrentStreamRevision()) : NO_STREAM,
      );
    }
    case 'StreamDeleted':
      return new StreamDeleted(stream);
    case 'MaximumAppendSizeExceeded':
      return new UnacceptableAppend('the append exceeds the maximum size of the server');
    case 'AccessDenied':
      return new Refused(
        `access is denied: the user in its URL must be allowed to write to the stream ${stream}`,
      );
    // The outcome is unknown or pending: a retry of the same append settles it.
    case 'Timeout':
      return new NoAnswer('it did not make an append in time');
    case 'BadRequest':
      return new Refused('it refused an append as malformed');
    default:
      return new NoAnswer(`it did not make an append (${error?.getMessage() || 'unknown'})`);
  }
}
