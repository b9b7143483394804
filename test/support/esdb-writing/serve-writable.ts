import { type IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb';
import { answerRead } from '../../../src/replay/read-call';
import {
  type Answers,
  type ReplayServer,
  type ReplayOptions,
  serveStreams,
} from '../../../src/replay/serve-replay';
import { type EventLog } from '../../../src/kernel/event-log';
import { BatchAppend } from './batch-append';
import { answerAppend, answerDelete, answerTombstone } from './write-calls';
import { Writer } from './writer';
import { WrittenLog } from './written-log';

/** Serves a log as EventStoreDB to clients that also write. Raises `EngineUnavailable` when it cannot listen. */
export async function serveWritable(log: EventLog, options: ReplayOptions): Promise<ReplayServer> {
  return await serveStreams((answers) => writableStreams(log, new Writer(log, Date.now), answers), options);
}

/** The service `Streams` over a log, with its writes. */
export function writableStreams(log: EventLog, writer: Writer, answers: Answers): IStreamsServer {
  const view = new WrittenLog(log);
  return {
    read: (call) => answers.stream(call, () => answerRead(view, call, answers.closing)),
    batchAppend: (call) =>
      answers.stream(call, () => new BatchAppend(writer, call, answers.closing, answers.report).answer()),
    append: (call, send) =>
      answers.single(call, send, answerAppend(writer, call.iterator({ destroyOnReturn: false }))),
    delete: (call, send) => answers.single(call, send, answerDelete(writer, call.request)),
    tombstone: (call, send) => answers.single(call, send, answerTombstone(writer, call.request)),
  };
}
