import { AllStreamPosition, type UUID } from '@eventstore/db-client/generated/shared_pb';
import { type BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerDuplexStream } from '@grpc/grpc-js';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { EngineUnavailable } from '../../kernel/event-log';
import { inTime } from '../../kernel/in-time';
import { Outgoing } from './outgoing';
import { toOffset } from './position';
import { expectationOf, Proposal } from './proposal';
import { streamName } from './read-options';
import { type Written } from './recent-ids';
import { type Expectation, Refusal, type Report, toIdentifier, toStatus } from './refusal';
import { readUuid } from './uuid';
import { type Writer } from './writer';

/** An append that is coming in, in one message or several. */
interface Incoming {
  readonly stream: string;
  readonly expected: Expectation;
  readonly proposal: Proposal;
  /** Until when the client waits for it (epoch ms). */
  readonly deadline: number;
}

/** Most appends coming in, and being made, at a time for one client. */
const MOST = 64;

/** How long an append may take at most, whatever its deadline says (ms). */
const LONGEST = 60_000;

/**
 * A `BatchAppend` call: many appends, each of which is answered by itself as soon as it is made, or at its deadline:
 * it may be made after that.
 */
export class BatchAppend {
  readonly #incoming = new Map<string, Incoming>();
  readonly #atWork = new Set<Promise<void>>();
  readonly #outgoing: Outgoing<BatchAppendResp>;
  #fail: (error: unknown) => void = () => undefined;

  /** Without a writer every append is refused. `signal` ends the call. */
  constructor(
    private readonly writer: Writer | undefined,
    private readonly call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>,
    signal: AbortSignal,
    private readonly report: Report,
  ) {
    this.#outgoing = new Outgoing(call, signal);
  }

  /**
   * Ends when the client has said its last and has got all answers. Raises `EngineUnavailable`: of one append alone
   * clients could not be told in a word of its own.
   */
  async answer(): Promise<void> {
    const failure = new Promise<never>((_, reject) => (this.#fail = reject));
    await Promise.race([this.#takeAll(), failure]);
  }

  async #takeAll(): Promise<void> {
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
      const append = this.writer.append(stream, incoming.expected, incoming.proposal.events);
      const left = Math.min(incoming.deadline - Date.now(), LONGEST);
      this.#make(correlation, stream, inTime(append, left, tooLate));
    } catch (error) {
      this.#incoming.delete(id);
      void this.#refuse(correlation, stream, error);
    }
  }

  #begun(stream: string, options: BatchAppendReq.Options): Incoming {
    if (this.writer === undefined) throw new Refusal({ kind: 'access-denied' });
    if (this.#incoming.size >= MOST)
      throw new Refusal({ kind: 'invalid', message: `More than ${MOST} appends are incomplete` });
    const deadline = options.getDeadline()?.toDate().getTime() ?? Infinity;
    if (deadline < Date.now()) throw tooLate();
    const expected = expectationOf({
      none: options.hasNoStream(),
      any: options.hasAny(),
      exists: options.hasStreamExists(),
      revision: options.hasStreamPosition() ? options.getStreamPosition() : undefined,
    });
    return { stream, expected, proposal: new Proposal(), deadline };
  }

  /** Answers an append when it has been made. */
  #make(correlation: UUID | undefined, stream: string, append: Promise<Written>): void {
    const work = append.then(
      (written) => this.#outgoing.send(succeeded(correlation, stream, written)),
      (error: unknown) => {
        if (!(error instanceof EngineUnavailable)) return this.#refuse(correlation, stream, error);
        this.#fail(error);
        return undefined;
      },
    );
    this.#atWork.add(work);
    void work.finally(() => this.#atWork.delete(work));
  }

  #refuse(correlation: UUID | undefined, stream: string, error: unknown): Promise<void> | undefined {
    if (!(error instanceof Refusal)) this.report(error);
    return this.#outgoing.send(responseTo(correlation, stream).setError(toStatus(error)));
  }
}

function tooLate(): Refusal {
  return new Refusal({ kind: 'timeout' });
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

function responseTo(correlation: UUID | undefined, stream: string): BatchAppendResp {
  return new BatchAppendResp().setCorrelationId(correlation).setStreamIdentifier(toIdentifier(stream));
}

function allPosition(offset: string): AllStreamPosition {
  return new AllStreamPosition().setCommitPosition(offset).setPreparePosition(offset);
}
