import { AllStreamPosition, type UUID } from '@eventstore/db-client/generated/shared_pb';
import { type BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerDuplexStream } from '@grpc/grpc-js';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { CallWriter } from '../../../src/replay/read-call';
import {
  invalid,
  type ReportBug,
  ServerRefusal,
  toIdentifier,
  toOffset,
} from '../../../src/replay/client-values';
import { streamName } from '../../../src/replay/read-options';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { withTimeout } from '../../../src/runtime/unavailable';
import { expectationOf, Proposal, readUuid } from './proposal';
import { type Expectation, timedOut, toStatus } from './refused-write';
import { type Writer, type Written } from './writer';

/** An append being received, in one or several messages. */
interface Incoming {
  readonly stream: string;
  readonly expected: Expectation;
  readonly proposal: Proposal;
  /** When the client stops waiting for it (epoch ms). */
  readonly deadline: number;
}

/** Maximum appends of one client being received, and being made, at once. */
const MOST = 64;

/** Maximum time (ms) for an append, whatever its deadline. */
const LONGEST = 60_000;

/**
 * A `BatchAppend` call: many appends, each answered on its own when it is made, or at its deadline. It may still be
 * made after that.
 */
export class BatchAppend {
  readonly #incoming = new Map<string, Incoming>();
  readonly #atWork = new Set<Promise<void>>();
  readonly #outgoing: CallWriter<BatchAppendResp>;
  #fail: (error: unknown) => void = () => undefined;

  /** `signal` ends the call. */
  constructor(
    private readonly writer: Writer,
    private readonly call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>,
    signal: AbortSignal,
    private readonly report: ReportBug,
  ) {
    this.#outgoing = new CallWriter(call, signal);
  }

  /**
   * Ends when the client has ended its side and has all answers. Raises `EngineUnavailable`: the protocol has no
   * status for it that belongs to a single append.
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
      // The rest of an append that was refused may still arrive.
      if (incoming === undefined) return;
      for (const message of request.getProposedMessagesList()) incoming.proposal.add(message);
      if (!request.getIsFinal()) return;
      this.#incoming.delete(id);
      const append = this.writer.append(stream, incoming.expected, incoming.proposal.events);
      const left = Math.min(incoming.deadline - Date.now(), LONGEST);
      this.#make(correlation, stream, withTimeout(SYSTEM_CLOCK, append, left, timedOut));
    } catch (error) {
      this.#incoming.delete(id);
      void this.#refuse(correlation, stream, error);
    }
  }

  #begun(stream: string, options: BatchAppendReq.Options): Incoming {
    if (this.#incoming.size >= MOST) throw invalid(`More than ${MOST} appends are incomplete`);
    const deadline = options.getDeadline()?.toDate().getTime() ?? Infinity;
    if (deadline < Date.now()) throw timedOut();
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
    if (!(error instanceof ServerRefusal)) this.report(error);
    return this.#outgoing.send(responseTo(correlation, stream).setError(toStatus(error)));
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

function responseTo(correlation: UUID | undefined, stream: string): BatchAppendResp {
  return new BatchAppendResp().setCorrelationId(correlation).setStreamIdentifier(toIdentifier(stream));
}

function allPosition(offset: string): AllStreamPosition {
  return new AllStreamPosition().setCommitPosition(offset).setPreparePosition(offset);
}
