import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BroadcastChannel, MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { callsOver } from '../../../kernel/calls';
import { type EventLog } from '../../../kernel/event-log';
import { GroupCommit } from './group-commit';
import { LogReader } from './log-reader';
import { type LogThread, type LogThreadData } from './log.thread';
import { LogWriter } from './log-writer';
import { News } from './news';
import { type Send, SqliteEventLog } from './sqlite-event-log';

/** What another thread needs to open the same log; `port` has to be transferred. */
export interface LogTicket {
  readonly file: string;
  /** Leads to the log thread; without one the other thread appends by itself, like another process. */
  readonly port?: MessagePort;
  /** Where the log thread tells how far the log has come. */
  readonly channel?: string;
}

export interface OpenedLog {
  readonly log: EventLog;
  /** A ticket for one more thread. */
  readonly ticket: () => LogTicket;
}

/**
 * Opens the log in a file, which is made when it is not there. With `threads` a thread of its own makes the
 * appends of the whole process, so that no other one waits for the disk. That is for what runs for long: the index of
 * streams is checked too, which takes longer the longer the log is. Raises `EngineUnavailable`.
 */
export async function openLog(file: string, threads: boolean): Promise<OpenedLog> {
  if (!threads) return { log: openAlone(file), ticket: () => ({ file }) };
  const data: LogThreadData = { file, channel: `affilog-log-${randomUUID()}` };
  // It has no listener for errors: one that it dies of is a bug and ends the process; a restart loses nothing.
  const thread = new Worker(join(__dirname, 'log.thread.js'), { workerData: data });
  thread.unref();
  const writer = callsOver<LogThread>(portTo(thread));
  try {
    await writer.open();
  } catch (error) {
    await thread.terminate();
    throw error;
  }
  const close = async (): Promise<void> => {
    await writer.close();
    await thread.terminate();
  };
  return {
    log: openOver(data, (append) => writer.append(append), close),
    ticket: () => ({ ...data, port: portTo(thread) }),
  };
}

/** Opens in this thread the log that a ticket is for. */
export function joinLog({ file, port, channel }: LogTicket): EventLog {
  if (port === undefined || channel === undefined) return openAlone(file);
  const writer = callsOver<LogThread>(port);
  return openOver(
    { file, channel },
    (append) => writer.append(append),
    async () => port.close(),
  );
}

/** Everything in this thread. */
function openAlone(file: string): EventLog {
  const writer = new LogWriter(file);
  writer.open();
  const reader = new LogReader(file);
  const news = new News(() => reader.head());
  const commits = new GroupCommit(
    (appends) => writer.commit(appends),
    (position) => news.reached(Number(position)),
  );
  return new SqliteEventLog(
    reader,
    news,
    (append) => commits.append(append),
    async () => {
      commits.close();
      writer.close();
    },
  );
}

/** Appends over a port, reading in this thread. */
function openOver({ file, channel }: LogThreadData, send: Send, close: () => Promise<void>): EventLog {
  const reader = new LogReader(file);
  const news = new News(() => reader.head());
  const heard = new BroadcastChannel(channel);
  heard.onmessage = ({ data }) => news.reached(Number(data));
  heard.unref();
  return new SqliteEventLog(reader, news, send, async () => {
    heard.close();
    await close();
  });
}

function portTo(thread: Worker): MessagePort {
  const { port1, port2 } = new MessageChannel();
  thread.postMessage(port2, [port2]);
  return port1;
}
