import { AllStreamPosition, type UUID } from '@eventstore/db-client/generated/shared_pb';
import { type BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerDuplexStream } from '@grpc/grpc-js';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { Outgoing } from './outgoing';
import { toOffset } from './position';
import { expectationOf, Proposal } from './proposal';
import { streamName } from './read-options';
import { type Written } from './recent-ids';
import { type Expectation, Refusal, toIdentifier, toStatus } from './refusal';
import { readUuid } from './uuid';
import { type Writer } from './writer';

/** An append that is coming in, in one message or several. */
interface Incoming {
  readonly stream: string;
  readonly expected: Expectation;
  readonly proposal: Proposal;
}

/** Most appends coming in, and being made, at a time for one client. */
const MOST = 64;

/** A `BatchAppend` call: many appends, each of which is answered by itself as soon as it is made. */
export class BatchAppend {
  readonly #incoming = new Map<string, Incoming>();
  readonly #atWork = new Set<Promise<void>>();
  readonly #outgoing: Outgoing<BatchAppendResp>;

  /** Without a writer every append is refused. `signal` ends the call. */
  constructor(
    private readonly writer: Writer | undefined,
    private readonly call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>,
    signal: AbortSignal,
  ) {
    this.#outgoing = new Outgoing(call, signal);
  }

  /** Ends when the client has said its last and has got all answers. */
  async answer(): Promise<void> {
    const requests: AsyncIterable<BatchAppendReq> = this.call.iterator({ destroyOnReturn: false });
    for await (const request of requests) {
      if (this.#outgoing.signal.aborted) return;
      this.#take(request);
      while (this.#atWork.size >= MOST) await Promise.race(this.#atWork);
    }
    await Promise.all(this.#atWork);
  }

  #take(request: BatchAppendReq): void {
    const correlation = request.getCorrelationId();
    const id = readUuid(correlation);
    const options = request.getOptions();
    let stream = this.#incoming.get(id)?.stream ?? '';
    try {
      if (options !== undefined) {
        stream = streamName(options.getStreamIdentifier());
        this.#incoming.set(id, this.#begun(stream, options));
      }
      const incoming = this.#incoming.get(id);
      // Of an append that has been refused the rest may still be on its way.
      if (this.writer === undefined || incoming === undefined) return;
      for (const message of request.getProposedMessagesList()) incoming.proposal.add(message);
      if (!request.getIsFinal()) return;
      this.#incoming.delete(id);
      this.#make(
        correlation,
        stream,
        this.writer.append(stream, incoming.expected, incoming.proposal.events),
      );
    } catch (error) {
      this.#incoming.delete(id);
      void this.#outgoing.send(failed(correlation, stream, error));
    }
  }

  #begun(stream: string, options: BatchAppendReq.Options): Incoming {
    if (this.writer === undefined) throw new Refusal({ kind: 'access-denied' });
    if (this.#incoming.size >= MOST)
      throw new Refusal({ kind: 'invalid', message: `More than ${MOST} appends are incomplete` });
    const deadline = options.getDeadline();
    if (deadline !== undefined && deadline.toDate().getTime() < Date.now())
      throw new Refusal({ kind: 'timeout' });
    const expected = expectationOf({
      none: options.hasNoStream(),
      any: options.hasAny(),
      exists: options.hasStreamExists(),
      revision: options.hasStreamPosition() ? options.getStreamPosition() : undefined,
    });
    return { stream, expected, proposal: new Proposal() };
  }

  /** Answers an append when it has been made. */
  #make(correlation: UUID | undefined, stream: string, append: Promise<Written>): void {
    const work = (async () => {
      const response = await append.then(
        (written) => succeeded(correlation, stream, written),
        (error: unknown) => failed(correlation, stream, error),
      );
      await this.#outgoing.send(response);
    })();
    this.#atWork.add(work);
    void work.finally(() => this.#atWork.delete(work));
  }
}

function succeeded(
  correlation: UUID | undefined,
  stream: string,
  { revision, position }: Written,
): BatchAppendResp {
  const success = new BatchAppendResp.Success();
  if (revision < 0) success.setNoStream(new Empty());
  else success.setCurrentRevision(String(revision));
  if (position === undefined) success.setNoPosition(new Empty());
  else success.setPosition(allPosition(toOffset(position)));
  return responseTo(correlation, stream).setSuccess(success);
}

function failed(correlation: UUID | undefined, stream: string, error: unknown): BatchAppendResp {
  return responseTo(correlation, stream).setError(toStatus(error));
}

function responseTo(correlation: UUID | undefined, stream: string): BatchAppendResp {
  return new BatchAppendResp().setCorrelationId(correlation).setStreamIdentifier(toIdentifier(stream));
}

function allPosition(offset: string): AllStreamPosition {
  return new AllStreamPosition().setCommitPosition(offset).setPreparePosition(offset);
}
