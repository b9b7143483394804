import { appendIdempotently, toNewEvent } from '../../kernel/decider';
import { type NewEvent, type Position } from '../../kernel/event';
import { APPEND_LIMITS, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { namedUuid } from '../../kernel/named-uuid';
import { type Cursor, MATCHED } from '../../domain/deliveries/delivery-events';
import { type Continuation } from './cursor';
import { type Due } from './matcher';

/** The namespace of ids of events in `matched`: what is matched again has the same id. */
const NAMESPACE = Buffer.from('0b5f6d0c7a3e4c53a1d79be2c4f80d16', 'hex');

/** Room for the cursor. */
const MAX_EVENTS = APPEND_LIMITS.events - 1;
const MAX_BYTES = APPEND_LIMITS.bytes - 512;

/** Appends what is due, and after it the cursor: one append, or several if it is too much for one. */
export class MatchedWriter {
  private pending: NewEvent[] = [];
  private bytes = 0;
  private revision: number;
  private last: Cursor;
  /** Everything up to here has been added, and of the event after it so many messages have been appended. */
  private added: Position;
  private appended: number;

  constructor(
    private readonly deliveries: EventLog,
    { cursor, revision }: Continuation,
  ) {
    [this.last, this.revision] = [cursor, revision];
    [this.added, this.appended] = [cursor.upTo, cursor.messages];
  }

  /** Whether something is to be appended, beside a cursor. */
  get hasPending(): boolean {
    return this.pending.length > 0;
  }

  /** The cursor of the last append. */
  get cursor(): Cursor {
    return this.last;
  }

  /** Whether messages to several organisations take turns in what is added next: not where older code has appended a part of it. */
  get isInTurn(): boolean {
    return this.appended === 0 || this.last.inTurn === true;
  }

  /**
   * Adds what is due because of the event at `position`, without what has been appended before. Raises `RevisionConflict` if
   * another process has appended.
   */
  async add(position: Position, event: string, due: Iterable<Due>): Promise<void> {
    const order = this.isInTurn ? ({ inTurn: true } as const) : {};
    let at = -1;
    for (const one of due) {
      at += 1;
      if (at < this.appended) continue;
      const packed = toNewEvent(one, idOf(one, event));
      const size = sizeOf(packed);
      if (this.pending.length === MAX_EVENTS || (this.pending.length > 0 && this.bytes + size > MAX_BYTES))
        await this.append({ upTo: this.added, messages: (this.appended = at), ...order });
      this.pending.push(packed);
      this.bytes += size;
    }
    [this.added, this.appended] = [position, 0];
  }

  /**
   * Appends what has been added, if anything, and the cursor; with `always` at least the cursor. Nothing while the event after
   * `upTo` has been appended in part: the last cursor describes that part.
   */
  async flush(upTo: Position, always: boolean): Promise<void> {
    if (this.appended > 0) return;
    this.added = upTo;
    const isNew = upTo > this.last.upTo;
    if (this.pending.length > 0 || (always && isNew)) await this.append({ upTo, messages: 0 });
  }

  /** Raises `RevisionConflict` if another process has appended. */
  async requireLast(): Promise<void> {
    for await (const [last] of this.deliveries.readStream(MATCHED, { backwards: true, limit: 1 }))
      if (last !== undefined && last.revision !== this.revision)
        throw new RevisionConflict(MATCHED, this.revision, last.revision);
  }

  private async append(cursor: Cursor): Promise<void> {
    const last = toNewEvent({ type: 'Matched', data: cursor }, uuid(`${cursor.upTo} ${cursor.messages}`));
    const appended = await appendIdempotently(this.deliveries, MATCHED, this.revision, [
      ...this.pending,
      last,
    ]);
    [this.revision, this.last, this.pending, this.bytes] = [appended.revision, cursor, [], 0];
  }
}

function idOf(due: Due, event: string): string {
  if (due.type === 'MessageDue') return uuid(due.data.id);
  return uuid(due.type === 'RedeliveriesWithdrawn' ? `${event} ${due.data.receiver}` : `${event} redelivery`);
}

function uuid(name: string): string {
  return namedUuid(NAMESPACE, name);
}

function sizeOf({ type, data, meta }: NewEvent): number {
  return type.length + Buffer.byteLength(data) + meta.length;
}
