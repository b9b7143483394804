import { type IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type handleUnaryCall, type sendUnaryData, type ServiceError } from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { answerRead } from './read-call';
import { accessDenied, Refusal, type Report, toServiceError } from './refusal';

/** The service `Streams` for read-only access to a log: refuses every write. */
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

/** Ends calls: with their results, with an error, or when `closing` is aborted. */
export class Answers {
  constructor(
    readonly closing: AbortSignal,
    readonly report: Report,
  ) {}

  /** Ends a streaming call once `work`, which writes its messages, is done. */
  stream(call: Streaming, work: Promise<void>): void {
    const fail = (error: unknown): void => {
      // A client that has disconnected gets no answer; errors caused by that are expected.
      if (!call.cancelled) call.emit('error', this.#errorOf(error));
    };
    work.then(() => (this.closing.aborted ? fail(CLOSED) : call.end()), fail);
  }

  /** Answers a unary call. */
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

/** A unary call without parameters. */
export function unary<Request, Response>(answer: () => Response): handleUnaryCall<Request, Response> {
  return (_, send) => send(null, answer());
}

interface Call {
  readonly cancelled: boolean;
}

interface Streaming extends Call {
  end(): unknown;
  emit(event: 'error', error: ServiceError): unknown;
}

const CLOSED = new EngineUnavailable('The server is shutting down');
