import { appendIdempotently, lastEvent, toNewEvent } from '../../kernel/decider';
import { type NewEvent, type Position, START } from '../../kernel/event';
import { APPEND_LIMITS, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { namedUuid } from '../../kernel/named-uuid';
import { type Reading } from '../../runtime/parked-events';
import { type MatcherCursor, MATCHED } from '../../domain/deliveries/delivery-events';
import { type Continuation, type Range, rangeOf } from './cursor';
import { type Due } from './matcher';

/** The namespace of ids of events in `matched`: what is matched again has the same id. */
const NAMESPACE = Buffer.from('0b5f6d0c7a3e4c53a1d79be2c4f80d16', 'hex');

/** Room for the cursor. */
const MAX_EVENTS = APPEND_LIMITS.events - 1;
const MAX_BYTES = APPEND_LIMITS.bytes - 512;

const NOTHING: ReadonlySet<string> = new Set();

/** The cursor does not name the event that was appended in part: it is the next one. */
const NEXT: Position = '9'.repeat(START.length);

/**
 * Appends what is due, and after it the cursor: one append, or several if it is too much for one. A restart between
 * them skips what has been appended by its ids, since other code may make other messages of the event, or in another
 * order.
 */
export class MatchedWriter {
  private pending: NewEvent[] = [];
  private bytes = 0;
  private revision: number;
  private last: MatcherCursor;
  private complete: number;
  private readonly made: ReadonlySet<string>;
  /** Everything up to here has been added. */
  private added: Position;
  /**
   * The position of the event that has been appended in part, until it has been added, and the number of these
   * messages.
   */
  private begun: Position;
  private messages: number;
  private range: Range | undefined;

  constructor(
    private readonly deliveries: EventLog,
    { cursor, revision, complete, made }: Continuation,
  ) {
    [this.last, this.revision, this.complete, this.made] = [cursor, revision, complete, made];
    [this.added, this.messages] = [cursor.upTo, cursor.messages];
    this.begun = cursor.messages > 0 ? (cursor.event ?? NEXT) : cursor.upTo;
  }

  /** Whether something is to be appended, beside a cursor. */
  get hasPending(): boolean {
    return this.pending.length > 0;
  }

  /** The cursor of the last append. */
  get cursor(): MatcherCursor {
    return this.last;
  }

  /** Whatever any process appends because of the event that is read next comes after this revision. */
  get after(): number {
    return this.complete;
  }

  /**
   * Adds what is due because of `event`, which is read, or retried, at `position`. Skips what has been appended before
   * a restart, and what is `made`. Raises `RevisionConflict` if another process has appended.
   */
  async add(
    position: Position,
    event: string,
    due: Iterable<Due>,
    made: ReadonlySet<string> = NOTHING,
  ): Promise<void> {
    if (this.begun === NEXT) this.begun = position;
    let at = -1;
    for (const one of due) {
      at += 1;
      const id = idOf(one, event);
      if (this.made.has(id) || made.has(id)) continue;
      const packed = toNewEvent(one, id);
      const size = sizeOf(packed);
      if (this.pending.length === MAX_EVENTS || (this.pending.length > 0 && this.bytes + size > MAX_BYTES)) {
        if (at > 0) this.begins(position, at);
        await this.append(this.added);
      }
      this.pending.push(packed);
      this.bytes += size;
    }
    this.added = position;
  }

  /**
   * Appends what has been added, if anything, and the cursor; with `always` at least the cursor. Nothing while the
   * event that has been appended in part is the next one, whose position is not known: the last cursor describes that
   * part.
   */
  async flush(upTo: Position, always: boolean): Promise<void> {
    if (this.begun === NEXT) return;
    this.added = upTo;
    const isNew = upTo > this.last.upTo;
    if (this.pending.length > 0 || (always && isNew)) await this.append(upTo);
  }

  /**
   * Ids of what was appended, or is to be, because of an event where it was parked: a part of it before that, or all by
   * a process that did not know that another one parked it.
   */
  async madeAt(readings: readonly Reading[]): Promise<ReadonlySet<string>> {
    const made = new Set(this.pending.map(({ id }) => id));
    for (const reading of readings) for (const id of (await this.rangeWith(reading)).ids) made.add(id);
    return made;
  }

  /** Raises `RevisionConflict` if another process has appended. */
  async requireLast(): Promise<void> {
    const last = await lastEvent(this.deliveries, MATCHED);
    if (last !== undefined && last.revision !== this.revision)
      throw new RevisionConflict(MATCHED, this.revision, last.revision);
  }

  /** Events that were parked one after the other have a range in common. */
  private async rangeWith({ after, position }: Reading): Promise<Range> {
    const { range } = this;
    if (range !== undefined && range.after <= after && position <= range.upTo) return range;
    return (this.range = await rangeOf(this.deliveries, after, position));
  }

  private begins(position: Position, messages: number): void {
    // Newer code may read others before the event that older code has appended in part.
    if (position > this.begun) this.begun = position;
    this.messages = messages;
  }

  private async append(upTo: Position): Promise<void> {
    const { begun: event, messages } = this;
    const cursor: MatcherCursor =
      event > upTo ? { upTo, messages, event, inTurn: true } : { upTo, messages: 0 };
    const last = toNewEvent({ type: 'Matched', data: cursor }, uuid(`${cursor.upTo} ${cursor.messages}`));
    const appended = await appendIdempotently(this.deliveries, MATCHED, this.revision, [
      ...this.pending,
      last,
    ]);
    [this.revision, this.last, this.pending, this.bytes] = [appended.revision, cursor, [], 0];
    if (cursor.messages === 0) this.complete = appended.revision;
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
