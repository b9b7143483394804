import { type IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type handleUnaryCall, type sendUnaryData, type ServiceError } from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { BatchAppend } from './batch-append';
import { answerRead } from './read-call';
import { Refusal, type Report, toServiceError } from './refusal';
import { answerAppend, answerDelete, answerTombstone } from './write-calls';
import { type Writer } from './writer';

/** The service `Streams` over a log; without a writer every write is refused. `closing` ends all calls. */
export function streamCalls(
  log: EventLog,
  writer: Writer | undefined,
  closing: AbortSignal,
  report: Report,
): IStreamsServer {
  const errorOf = (error: unknown): ServiceError => {
    if (!(error instanceof Refusal) && !(error instanceof EngineUnavailable)) report(error);
    return toServiceError(error);
  };
  /** A call without an end of its own: it is ended with its work, with an error, or by `closing`. */
  const until = (call: Streaming, work: Promise<void>): void => {
    const fail = (error: unknown): void => {
      // Whoever is gone gets no answer; what breaks because of that is nobody's fault.
      if (!call.cancelled) call.emit('error', errorOf(error));
    };
    work.then(() => (closing.aborted ? fail(CLOSED) : call.end()), fail);
  };
  const answer = <T>(call: Call, send: sendUnaryData<T>, work: (writer: Writer) => Promise<T>): void => {
    (writer === undefined ? Promise.reject(READ_ONLY) : work(writer)).then(
      (response) => send(null, response),
      (error: unknown) => call.cancelled || send(errorOf(error)),
    );
  };
  return {
    read: (call) => until(call, answerRead(log, call, closing)),
    batchAppend: (call) => until(call, new BatchAppend(writer, call, closing, report).answer()),
    append: (call, send) =>
      answer(call, send, (to) => answerAppend(to, call.iterator({ destroyOnReturn: false }))),
    delete: (call, send) => answer(call, send, (to) => answerDelete(to, call.request)),
    tombstone: (call, send) => answer(call, send, (to) => answerTombstone(to, call.request)),
  };
}

/** A call that asks for nothing but the answer. */
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

const READ_ONLY = new Refusal({ kind: 'access-denied' });
const CLOSED = new EngineUnavailable('The server is being stopped');
