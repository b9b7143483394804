import { type IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type handleUnaryCall, type sendUnaryData, type ServiceError } from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { answerRead } from './read-call';
import { accessDenied, Refusal, type Report, toServiceError } from './refusal';

/** The service `Streams` over a log that clients only read: every write is refused. */
export function readOnlyStreams(log: EventLog, answers: Answers): IStreamsServer {
  const refused = (): Promise<never> => Promise.reject(accessDenied());
  return {
    read: (call) => answers.stream(call, answerRead(log, call, answers.closing)),
    batchAppend: (call) => answers.stream(call, refused()),
    append: (call, send) => answers.single(call, send, refused()),
    delete: (call, send) => answers.single(call, send, refused()),
    tombstone: (call, send) => answers.single(call, send, refused()),
  };
}

/** How calls end: with their work, with an error, or when `closing` is aborted. */
export class Answers {
  constructor(
    readonly closing: AbortSignal,
    readonly report: Report,
  ) {}

  /** Ends a call that streams its answers by itself. */
  stream(call: Streaming, work: Promise<void>): void {
    const fail = (error: unknown): void => {
      // A client that has gone gets no answer; errors that this causes are expected.
      if (!call.cancelled) call.emit('error', this.#errorOf(error));
    };
    work.then(() => (this.closing.aborted ? fail(CLOSED) : call.end()), fail);
  }

  /** Sends the one answer of a call. */
  single<T>(call: Call, send: sendUnaryData<T>, work: Promise<T>): void {
    work.then(
      (response) => send(null, response),
      (error: unknown) => call.cancelled || send(this.#errorOf(error)),
    );
  }

  #errorOf(error: unknown): ServiceError {
    if (!(error instanceof Refusal) && !(error instanceof EngineUnavailable)) this.report(error);
    return toServiceError(error);
  }
}

/** A call without parameters. */
export function asking<Request, Response>(answer: () => Response): handleUnaryCall<Request, Response> {
  return (_, send) => send(null, answer());
}

interface Call {
  readonly cancelled: boolean;
}

interface Streaming extends Call {
  end(): unknown;
  emit(event: 'error', error: ServiceError): unknown;
}

const CLOSED = new EngineUnavailable('The server is being stopped');
