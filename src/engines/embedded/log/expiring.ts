import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type ExpiringLog } from '../../../kernel/event-log';
import { type HeadWatcher } from './head-watcher';
import { type LogReader } from './log-reader';
import { type LogWriter } from './log-writer';
import { type Send, SqliteEventLog } from './sqlite-event-log';

/** Deletes what was appended before a time (epoch ms), in this thread or another. */
export type Expire = (before: number) => Promise<void>;

/** A log whose events expire, in a SQLite file that shrinks with them. */
export class SqliteExpiringLog extends SqliteEventLog implements ExpiringLog {
  constructor(
    private readonly expireRest: Expire,
    ...rest: readonly [LogReader, HeadWatcher, Send, () => Promise<void>]
  ) {
    super(...rest);
  }

  async expire(before: Date): Promise<void> {
    await this.expireRest(before.getTime());
  }
}

/** Commits of this thread take place between two slices. */
export async function expireWith(writer: LogWriter, before: number): Promise<void> {
  while (writer.expire(before)) await yieldToEventLoop();
  while (writer.shrink()) await yieldToEventLoop();
}
