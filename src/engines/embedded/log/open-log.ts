import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BroadcastChannel, MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { setImmediate } from 'node:timers/promises';
import { callsOver, type Remote } from '../../../runtime/calls';
import { DamagedLog, EngineUnavailable, type EventLog, type ExpiringLog } from '../../../kernel/event-log';
import { countedAppend } from '../../validation';
import { AppendSender, GroupCommit, LogWriter, TEXTS } from './log-writer';
import { LogReader } from './log-reader';
import { type LogThread, type LogThreadData } from './log.thread';
import { type LogKind, openToAppend, SUBJECTS } from './schema';
import {
  type Expire,
  expireWith,
  type Growth,
  HeadWatcher,
  type Send,
  SqliteEventLog,
  SqliteExpiringLog,
} from './sqlite-event-log';
import { START } from '../../../kernel/event';
import { closeDatabase } from '../connection';

/** What another thread needs to open the same log. `port` must be transferred. */
export interface LogTicket {
  readonly file: string;
  readonly kind: LogKind;
  /** A port to the log thread. Without one, the other thread appends on its own, like another process. */
  readonly port?: MessagePort;
  /** The channel on which the log thread broadcasts how the log grows. */
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

/**
 * Opens the file of a delivery log that nobody writes, as in a backup, for reading: nothing is written beside it, and
 * the disk may be read-only.
 */
export function openDeliveryCopy(file: string): EventLog {
  const reader = new LogReader(`${pathToFileURL(file).href}?immutable=1`, 'deliveries');
  const refuse: Send = () =>
    Promise.reject(new EngineUnavailable('the copy of the delivery log is read only'));
  return new SqliteEventLog(reader, new HeadWatcher(() => reader.head()), refuse, () => Promise.resolve());
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
    ({ position }) => watcher.grew({ position }),
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
  const watcher = new HeadWatcher(() => reader.head(), true);
  const heads = new BroadcastChannel(channel);
  heads.onmessage = ({ data }) => watcher.grew(data as Growth);
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

/** Appends that are copied at a time: other work of the thread continues in between. */
const SLICE = 1_000;

/**
 * Copies the file of a delivery log, which may be in use, to a new file: everything up to its present end. Events that
 * expire meanwhile may be in it. Reads the copy as a log. Raises `EngineUnavailable`.
 */
export async function copyDeliveryLog(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await copyRows(from, to, signal);
  const { log } = await openDeliveryLog(to, false);
  try {
    const head = await log.head();
    let last = START;
    for await (const { position } of log.readAll({ after: START })) last = position;
    if (last !== head) throw new DamagedLog(`its copy ends at ${last} in place of ${head}`);
  } finally {
    await log.close();
  }
}

async function copyRows(from: string, to: string, signal: AbortSignal | undefined): Promise<void> {
  const database = openToAppend(to, 'deliveries');
  try {
    database.prepare('ATTACH DATABASE ? AS source').run(from);
    const [head] = database.prepare('SELECT coalesce(max(position), 0) FROM source.appends').get() as [
      number,
    ];
    const next = database.prepare(
      'SELECT max(position) FROM (SELECT position FROM source.appends WHERE position > ? AND position <= ? ' +
        `ORDER BY position LIMIT ${SLICE})`,
    );
    const copies = ['appends', 'events'].map((table) =>
      database.prepare(
        `INSERT INTO main.${table} SELECT * FROM source.${table} WHERE position > ? AND position <= ?`,
      ),
    );
    for (let after = 0; after < head;) {
      signal?.throwIfAborted();
      // In one transaction, both tables are read as of one moment.
      database.exec('BEGIN IMMEDIATE');
      const [upTo] = next.get(after, head) as [number | null];
      if (upTo !== null) for (const copy of copies) copy.run(after, upTo);
      database.exec('COMMIT');
      after = upTo ?? head;
      await setImmediate();
    }
    database.exec('UPDATE main.expired SET position = (SELECT position FROM source.expired)');
  } finally {
    closeDatabase(database);
  }
}
