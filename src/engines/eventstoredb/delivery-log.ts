import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../kernel/event';
import { type ExpiringLog, RevisionConflict } from '../../kernel/event-log';
import { EventStoreLog } from './event-store-log';
import { type SentEvent } from './sent-event';

/** The events of a stream that can be read. */
interface Extent {
  readonly first: SentEvent;
  readonly last: SentEvent;
}

/**
 * The delivery log in EventStoreDB. What is expired is truncated: the server no longer returns it in reads of the stream, and
 * deletes it from its files when it is scavenged. Not `$maxAge`, which would also hide the last event of a stream, and with it
 * how far the matcher has come.
 */
export class EventStoreDeliveries extends EventStoreLog implements ExpiringLog {
  async expire(before: Date, streams: readonly string[]): Promise<void> {
    for (const stream of streams) await this.#truncate(this.serverName(stream), before.getTime());
  }

  async #truncate(name: string, before: number): Promise<void> {
    const extent = await this.#extentOf(name);
    if (extent === undefined || extent.first.created >= before) return;
    const revision = await this.#firstSince(name, extent, before);
    if (revision <= extent.first.revision) return;
    const metadata = await this.eventIn(`$$${name}`, 'last');
    const content = { ...objectOf(metadata?.dataText ?? '{}'), $tb: revision };
    const event = { id: randomUUID(), type: '$metadata', data: JSON.stringify(content), meta: '{}' };
    try {
      await this.appendTo(`$$${name}`, metadata?.revision ?? NO_STREAM, [event]);
    } catch (error) {
      // Another process was faster, or an operator has changed the metadata: the next time will do.
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }

  /** The first revision that is not older, at most the last one. */
  async #firstSince(name: string, { first, last }: Extent, before: number): Promise<number> {
    let [low, high] = [first.revision, last.revision];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const event = await this.eventIn(name, middle);
      if (event === undefined || event.created < before) low = (event?.revision ?? middle) + 1;
      else high = middle;
    }
    return Math.min(low, last.revision);
  }

  async #extentOf(name: string): Promise<Extent | undefined> {
    const first = await this.eventIn(name, 0);
    const last = await this.eventIn(name, 'last');
    return first === undefined || last === undefined ? undefined : { first, last };
  }
}

function objectOf(text: string): object {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}
