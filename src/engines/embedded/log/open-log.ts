import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BroadcastChannel, MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../runtime/calls';
import { EngineUnavailable, type EventLog, type ExpiringLog } from '../../../kernel/event-log';
import { countedAppend } from '../../counted-append';
import { AppendSender } from './append-sender';
import { expireWith, type Expire, SqliteExpiringLog } from './expiring';
import { GroupCommit } from './group-commit';
import { LogReader } from './log-reader';
import { type LogThread, type LogThreadData } from './log.thread';
import { LogWriter } from './log-writer';
import { HeadWatcher } from './head-watcher';
import { TEXTS } from './packed';
import { type LogKind, SUBJECTS } from './schema';
import { type Send, SqliteEventLog } from './sqlite-event-log';

/** What another thread needs to open the same log. `port` must be transferred. */
export interface LogTicket {
  readonly file: string;
  readonly kind: LogKind;
  /** A port to the log thread. Without one, the other thread appends on its own, like another process. */
  readonly port?: MessagePort;
  /** The channel on which the log thread broadcasts the head of the log. */
  readonly channel?: string;
}

export interface OpenedLog<Log = EventLog> {
  readonly log: Log;
  /** Issues a ticket for one more thread. */
  readonly ticket: () => LogTicket;
}

/**
 * Opens the log in a file, which is created if needed. With `threads`, one thread makes all appends of the process, so
 * that no other thread waits for the disk. That is for long-running processes: it also checks the index of streams,
 * which takes time proportional to the length of the log. Raises `EngineUnavailable`.
 */
export async function openLog(file: string, threads: boolean): Promise<OpenedLog> {
  const { log, ticket } = await openParts(file, 'events', threads);
  return { log: new SqliteEventLog(...log.parts), ticket };
}

/** Opens the log of deliveries, as `openLog` does that of the domain. */
export async function openDeliveryLog(file: string, threads: boolean): Promise<OpenedLog<ExpiringLog>> {
  const { log, ticket } = await openParts(file, 'deliveries', threads);
  return { log: new SqliteExpiringLog(log.expire, ...log.parts), ticket };
}

/** Opens the log of a ticket in this thread. */
export function joinLog(ticket: LogTicket): EventLog {
  return new SqliteEventLog(...joined(ticket).parts);
}

/** Opens the log of deliveries of a ticket in this thread. */
export function joinDeliveryLog(ticket: LogTicket): ExpiringLog {
  const { expire, parts } = joined(ticket);
  return new SqliteExpiringLog(expire, ...parts);
}

/** What a log consists of in one thread. */
interface Parts {
  readonly parts: readonly [LogReader, HeadWatcher, Send, close: () => Promise<void>];
  readonly expire: Expire;
}

async function openParts(file: string, kind: LogKind, threads: boolean): Promise<OpenedLog<Parts>> {
  if (!threads) return { log: partsInThread(file, kind), ticket: () => ({ file, kind }) };
  const data: LogThreadData = { file, kind, channel: `affilog-log-${randomUUID()}` };
  const thread = new Worker(join(__dirname, 'log.thread.js'), { workerData: data });
  thread.unref();
  let isOpen = false;
  let death: unknown;
  thread.on('error', (error: unknown) => {
    death = error;
    // Uncaught, since the process must end (docs/decisions.md#x81). A restart loses nothing.
    if (isOpen) throw new Error(`the thread of ${SUBJECTS[kind]} has died`, { cause: error });
  });
  const writer = callsOver<LogThread>(portTo(thread));
  try {
    await writer.open();
    isOpen = true;
  } catch (error) {
    await thread.terminate();
    const cannotStart = `${SUBJECTS[kind]} is not available: its thread cannot be started`;
    throw death === undefined ? error : new EngineUnavailable(cannotStart, { cause: death });
  }
  const close = async (): Promise<void> => {
    await writer.close();
    await thread.terminate();
  };
  return { log: partsOver(data, writer, close), ticket: () => ({ ...data, port: portTo(thread) }) };
}

function joined({ file, kind, port, channel }: LogTicket): Parts {
  if (port === undefined || channel === undefined) return partsInThread(file, kind);
  return partsOver({ file, kind, channel }, callsOver<LogThread>(port), async () => port.close());
}

/** Reads and appends in this thread. */
function partsInThread(file: string, kind: LogKind): Parts {
  const writer = new LogWriter(file, kind);
  writer.open();
  const reader = new LogReader(file, kind);
  const watcher = new HeadWatcher(() => reader.head());
  const commits = new GroupCommit(
    (appends) => writer.commit(appends),
    (position) => watcher.reached(Number(position)),
    SUBJECTS[kind],
  );
  const close = async (): Promise<void> => {
    commits.close();
    writer.close();
  };
  return {
    parts: [reader, watcher, counted(kind, (append) => commits.append(append)), close],
    expire: (before) => expireWith(writer, before),
  };
}

/** Reads in this thread, and appends in that of the log. */
function partsOver(
  { file, kind, channel }: LogThreadData,
  writer: Remote<LogThread>,
  close: () => Promise<void>,
): Parts {
  const sender = new AppendSender((appends) => writer.append(appends));
  const reader = new LogReader(file, kind);
  const watcher = new HeadWatcher(() => reader.head());
  const heads = new BroadcastChannel(channel);
  heads.onmessage = ({ data }) => watcher.reached(Number(data));
  heads.unref();
  const closeAll = async (): Promise<void> => {
    heads.close();
    await close();
  };
  return {
    parts: [reader, watcher, counted(kind, (append) => sender.append(append)), closeAll],
    expire: (before) => writer.expire(before),
  };
}

function counted(kind: LogKind, send: Send): Send {
  return (append) => countedAppend(kind, append.texts.length / TEXTS, () => send(append));
}

function portTo(thread: Worker): MessagePort {
  const { port1, port2 } = new MessageChannel();
  thread.postMessage(port2, [port2]);
  return port1;
}
