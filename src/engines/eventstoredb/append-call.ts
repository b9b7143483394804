import { randomUUID } from 'node:crypto';
import { StreamIdentifier, UUID, WrongExpectedVersion } from '@eventstore/db-client/generated/shared_pb';
import { type Status } from '@eventstore/db-client/generated/status_pb';
import { BatchAppendReq, type BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type ClientDuplexStream } from '@grpc/grpc-js';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { NO_STREAM, type NewEvent, type Position } from '../../kernel/event';
import { RevisionConflict, UnacceptableAppend } from '../../kernel/event-log';
import { toPosition } from './records';
import { NoAnswer, Refused } from './trouble';

/** What is appended, and where. */
export interface Append {
  readonly stream: string;
  readonly expected: number;
  readonly events: readonly NewEvent[];
}

/** Where an append ended. */
export interface Made {
  readonly revision: number;
  /** Unknown when the append was already made, and the stream was truncated since. */
  readonly position: Position | undefined;
}

interface Pending {
  readonly append: Append;
  readonly resolve: (made: Made) => void;
  readonly reject: (error: Error) => void;
}

type Call = ClientDuplexStream<BatchAppendReq, BatchAppendResp>;

/** A call that any number of appends go over, each answered by itself. */
export class AppendCall {
  readonly #pending = new Map<string, Pending>();
  #failure: Error | undefined;

  constructor(private readonly call: Call) {
    call.on('data', (answer: BatchAppendResp) => this.#answer(answer));
    call.on('error', (error) => this.#fail(error));
    call.on('end', () => this.#fail(new NoAnswer('it ended the appends')));
  }

  /** Takes no more appends. */
  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Raises `RevisionConflict`, `UnacceptableAppend`, and what has ended the call: then the outcome is unknown. An answer
   * may never come.
   */
  async append(append: Append): Promise<Made> {
    return await new Promise<Made>((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      const id = randomUUID();
      const request = requestOf(id, append);
      this.#pending.set(id, { append, resolve, reject });
      this.call.write(request);
    });
  }

  /** Ends the call and all that is under way. */
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
      pending.reject(asPortError(answer.getError(), pending.append));
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
 * Without a deadline: the server has its own, and the protocol's is a time of day, by which a clock that is slow makes
 * every append fail.
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

/** What the server says of an append that it did not make, or not yet. */
function asPortError(error: Status | undefined, { stream, expected }: Append): Error {
  const details = error?.getDetails();
  const kind = (details?.getTypeName() ?? '').replace('event_store.client.', '');
  const unpacked = (): WrongExpectedVersion | null | undefined =>
    details?.unpack(
      (bytes) => WrongExpectedVersion.deserializeBinary(bytes),
      'event_store.client.WrongExpectedVersion',
    );
  switch (kind) {
    case 'WrongExpectedVersion': {
      const conflict = unpacked();
      const isThere = conflict?.hasCurrentStreamRevision() === true;
      return new RevisionConflict(
        stream,
        expected,
        isThere ? Number(conflict.getCurrentStreamRevision()) : NO_STREAM,
      );
    }
    case 'StreamDeleted':
      return new UnacceptableAppend(`${stream} was deleted for ever`);
    case 'MaximumAppendSizeExceeded':
      return new UnacceptableAppend('the server takes no appends of this size');
    case 'AccessDenied':
      return new Refused(
        `access is denied: the user in its URL must be allowed to write to the stream ${stream}`,
      );
    // The outcome is unknown, or there is none yet: retrying the same append settles it.
    case 'Timeout':
      return new NoAnswer('it did not make an append in time');
    case 'BadRequest':
      return new Refused('it refused an append as malformed');
    default:
      return new NoAnswer(`it did not make an append (${error?.getMessage() || 'unknown'})`);
  }
}
