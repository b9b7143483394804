import { randomUUID } from 'node:crypto';
import { type NewEvent, NO_STREAM } from '../../../src/kernel/event';
import { type Appended } from '../../../src/kernel/event-log';
import { storedName } from '../esdb-writing/client-names';
import { type ProposedEvent } from '../esdb-writing/proposal';
import { lastOf } from '../esdb-writing/stream-state';
import { toStored } from '../esdb-writing/to-stored';
import { SparseLog } from './sparse-log';

type Foreign = Pick<ProposedEvent, 'type' | 'json'> & { readonly stream: string; readonly data: string };

/** Events of the server itself, which it appends on its own. */
const SERVER: readonly Foreign[] = [
  {
    stream: '$$$stats-127.0.0.1:2113',
    type: '$metadata',
    json: true,
    data: '{"$maxAge":86400}',
  },
  { stream: '$stats-127.0.0.1:2113', type: '$statsCollected', json: true, data: '{"sys-cpu":0.5}' },
];

/** Events of other programs and of the server's projections, appended along with those of clients. */
const OTHERS: readonly Foreign[] = [
  { stream: 'order-1', type: 'OrderPlaced', json: true, data: '{"total":995}' },
  { stream: '$ce-order', type: '$>', json: false, data: '0@order-1' },
  { stream: 'picture-1', type: 'PictureStored', json: false, data: '\u0000not JSON' },
  { stream: 'order-2', type: 'OrderListed', json: true, data: '[1,2]' },
  ...SERVER.slice(1),
];

/** Number of foreign events before those of any client: more than a page of EventStoreDB, fewer than a window. */
const BEFORE = 40;

/** A log with foreign events before, between and after those of a client. */
export class BusyLog extends SparseLog {
  readonly #revisions = new Map<string, number>();
  #next = 0;

  /** Appends the events that precede those of all clients. */
  async begin(): Promise<void> {
    for (const { stream } of [...SERVER, ...OTHERS])
      this.#revisions.set(stream, (await lastOf(this, stream))?.revision ?? NO_STREAM);
    const [metadata] = SERVER;
    if (metadata !== undefined) await this.#append(metadata);
    for (let n = 0; n < BEFORE; n += 1) await this.#appendNext(OTHERS);
  }

  /** Appends an event of the server itself. */
  async tick(): Promise<void> {
    await this.#appendNext(SERVER.slice(1));
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    // Started together, they are committed in this order.
    const [, appended] = await Promise.all([
      this.#appendNext(OTHERS),
      super.append(stream, expected, events),
      this.#appendNext(OTHERS),
    ]);
    return appended;
  }

  async #appendNext(kinds: readonly Foreign[]): Promise<void> {
    const kind = kinds[this.#next++ % kinds.length];
    if (kind !== undefined) await this.#append(kind);
  }

  async #append({ stream, type, json, data }: Foreign): Promise<void> {
    const revision = this.#revisions.get(stream) ?? NO_STREAM;
    this.#revisions.set(stream, revision + 1);
    const event = { id: randomUUID(), type, json, data: Buffer.from(data), metadata: Buffer.from('') };
    await super.append(storedName(stream), revision, toStored([event], Date.now()));
  }
}
