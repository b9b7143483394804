import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BroadcastChannel, MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../kernel/calls';
import { type Appended, EngineUnavailable, type EventLog } from '../../../kernel/event-log';
import { AppendSender } from './append-sender';
import { GroupCommit } from './group-commit';
import { LogReader } from './log-reader';
import { type LogThread, type LogThreadData } from './log.thread';
import { LogWriter } from './log-writer';
import { HeadWatcher } from './head-watcher';
import { type PackedAppend } from './packed';
import { SqliteEventLog } from './sqlite-event-log';

/** What another thread needs to open the same log. `port` must be transferred. */
export interface LogTicket {
  readonly file: string;
  /** A port to the log thread. Without one, the other thread appends on its own, like another process. */
  readonly port?: MessagePort;
  /** The channel on which the log thread broadcasts the head of the log. */
  readonly channel?: string;
}

export interface OpenedLog {
  readonly log: EventLog;
  /** Issues a ticket for one more thread. */
  readonly ticket: () => LogTicket;
}

const CANNOT_START = 'the event log is not available: its thread cannot be started';

/**
 * Opens the log in a file, which is created if needed. With `threads`, one thread makes all appends of the process, so that
 * no other thread waits for the disk. That is for long-running processes: it also checks the index of streams, which takes
 * time proportional to the length of the log. Raises `EngineUnavailable`.
 */
export async function openLog(file: string, threads: boolean): Promise<OpenedLog> {
  if (!threads) return { log: openInThread(file), ticket: () => ({ file }) };
  const data: LogThreadData = { file, channel: `affilog-log-${randomUUID()}` };
  const thread = new Worker(join(__dirname, 'log.thread.js'), { workerData: data });
  thread.unref();
  let isOpen = false;
  let death: unknown;
  thread.on('error', (error: unknown) => {
    death = error;
    // Uncaught, since the process must end (docs/decisions.md#x81). A restart loses nothing.
    if (isOpen) throw new Error('the thread of the event log has died', { cause: error });
  });
  const writer = callsOver<LogThread>(portTo(thread));
  try {
    await writer.open();
    isOpen = true;
  } catch (error) {
    await thread.terminate();
    throw death === undefined ? error : new EngineUnavailable(CANNOT_START, { cause: death });
  }
  const close = async (): Promise<void> => {
    await writer.close();
    await thread.terminate();
  };
  return {
    log: openOver(data, writer, close),
    ticket: () => ({ ...data, port: portTo(thread) }),
  };
}

/** Opens the log of a ticket in this thread. */
export function joinLog({ file, port, channel }: LogTicket): EventLog {
  if (port === undefined || channel === undefined) return openInThread(file);
  const writer = callsOver<LogThread>(port);
  return openOver({ file, channel }, writer, async () => port.close());
}

/** Opens a log that reads and appends in this thread. */
function openInThread(file: string): EventLog {
  const writer = new LogWriter(file);
  writer.open();
  const reader = new LogReader(file);
  const watcher = new HeadWatcher(() => reader.head());
  const commits = new GroupCommit(
    (appends) => writer.commit(appends),
    (position) => watcher.reached(Number(position)),
  );
  return new SqliteEventLog(
    reader,
    watcher,
    (append) => commits.append(append),
    async () => {
      commits.close();
      writer.close();
    },
  );
}

/** Opens a log that reads in this thread and appends in the log thread. */
function openOver(
  { file, channel }: LogThreadData,
  writer: Remote<LogThread>,
  close: () => Promise<void>,
): EventLog {
  const sender = new AppendSender((appends) => writer.append(appends));
  const reader = new LogReader(file);
  const watcher = new HeadWatcher(() => reader.head());
  const heads = new BroadcastChannel(channel);
  heads.onmessage = ({ data }) => watcher.reached(Number(data));
  heads.unref();
  const send = async (append: PackedAppend): Promise<Appended> => await sender.append(append);
  return new SqliteEventLog(reader, watcher, send, async () => {
    heads.close();
    await close();
  });
}

function portTo(thread: Worker): MessagePort {
  const { port1, port2 } = new MessageChannel();
  thread.postMessage(port2, [port2]);
  return port1;
}
