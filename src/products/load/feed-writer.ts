import { randomUUID } from 'node:crypto';
import { Backoff } from '../../kernel/backoff';
import { appendIdempotently } from '../../kernel/decider';
import { type NewEvent, type Position, streamOf } from '../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { FEED, type FeedClosing } from '../feed';
import { type Decided, decide, fold, type Item, noTally, type Tally } from './batch';
import { catchUp } from './catch-up';
import { type Fingerprints } from './fingerprints';

interface Batch {
  readonly items: readonly Item[];
  /** Its last event, if it has one: counts what all batches did. */
  readonly close: Close | undefined;
}

type Close = (tally: Tally) => FeedClosing | undefined;

/** A batch that has been appended. */
interface Done {
  readonly decided: Decided;
  /** The last event of the stream, then. */
  readonly revision: number;
  readonly lastEvent: string;
}

/** The state of the stream that a batch is appended after. */
type After = Pick<Done, 'revision' | 'lastEvent'>;

/** Most bytes of the event that closes a load or a deletion. */
export const CLOSE_BYTES = 256 * 1024;

/** How often other writers may be faster with one batch. */
const MOST_CONFLICTS = 20;
/** The waits after that (ms). */
const BACKOFF_MS = { first: 5, longest: 250 } as const;

const OVERTAKEN = 'other writers keep changing this feed: post it again to complete the load';
const REPLACED = 'the event log was replaced while the load was being stored: post it again';

/** Room for what stands beside a product's content in its event. */
const OVERHEAD = 512;

/**
 * Writes to one feed: decides by its fingerprints, appends in batches, folds what was appended. While a batch is
 * being appended the next is decided and the one before is folded. A batch holds each product once, and so do all
 * batches of one writer together. Raises `EngineUnavailable` if other writers are always faster: the batches before
 * are stored, and the same load again completes it.
 */
export class FeedWriter {
  /** Of the last append. */
  position: Position | undefined;
  readonly tally = noTally();
  private items: Item[] = [];
  private bytes = 0;
  /** The batch before, when it has been appended. */
  private underWay: Promise<Done | undefined> = Promise.resolve(undefined);
  /** How often the fingerprints have caught up with another writer: what was decided before, or meanwhile, is void. */
  private catchUps = 0;
  private readonly stream: string;
  /** From this revision on the stream has nothing but what this writer has appended. */
  private first: number;

  constructor(
    private readonly log: EventLog,
    feedId: number,
    private readonly prints: Fingerprints,
    /** Time of the events, ISO 8601. */
    private readonly at: string,
    /** Breaks off between two appends. */
    private readonly signal: AbortSignal,
  ) {
    this.stream = streamOf(FEED, feedId);
    this.first = prints.revision + 1;
  }

  /** When a promise comes back, wait for it before adding the next. */
  add(item: Item): Promise<void> | undefined {
    const bytes =
      OVERHEAD + 3 * item.product.sourceProductId.length + (item.kind === 'posted' ? item.textBytes : 0);
    // One place is kept for the event that closes it.
    const isFull =
      this.items.length === APPEND_LIMITS.events - 1 ||
      this.bytes + bytes > APPEND_LIMITS.bytes - CLOSE_BYTES;
    const flushed = isFull ? this.flush() : undefined;
    this.items.push(item);
    this.bytes += bytes;
    return flushed;
  }

  /** Raises `EngineUnavailable` once loads are to be broken off. */
  refuseAfterStop(): void {
    if (this.signal.aborted)
      throw new EngineUnavailable('the load was broken off: the server is being stopped');
  }

  /** Counts a product that is known to be unchanged. */
  unchanged(): void {
    this.tally.unchanged += 1;
  }

  /** Appends what has been added, and with it the event that closes the load or deletion. */
  async settle(close?: Close): Promise<void> {
    await this.flush(close);
    this.fold(await this.underWay);
    this.underWay = Promise.resolve(undefined);
  }

  private async flush(close?: Close): Promise<void> {
    const batch: Batch = { items: this.items, close };
    this.items = [];
    this.bytes = 0;
    const { catchUps } = this;
    const decided = this.decide(batch);
    const before = await this.underWay;
    // Own appends change nothing that this batch was decided by, another's may.
    const isCurrent = catchUps === this.catchUps;
    this.underWay = this.append(batch, before ?? this.prints, isCurrent ? decided : this.decide(batch));
    // Told by whoever waits for it next.
    this.underWay.catch(() => undefined);
    this.fold(before);
  }

  private async append(batch: Batch, after: After, decided: Decided): Promise<Done> {
    const backoff = new Backoff(BACKOFF_MS);
    for (let conflicts = 0; ; conflicts += 1) {
      this.refuseAfterStop();
      try {
        return await this.appendOnce(batch, after, decided);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        if (conflicts === MOST_CONFLICTS) throw new EngineUnavailable(OVERTAKEN, { cause: error });
      }
      await backoff.wait(this.signal);
      if (!(await catchUp(this.log, this.stream, this.prints))) throw new EngineUnavailable(REPLACED);
      // Not before: a batch that is decided while the fingerprints catch up is decided by a state half folded.
      this.catchUps += 1;
      this.first = this.prints.revision + 1;
      after = this.prints;
      decided = this.decide(batch);
    }
  }

  private async appendOnce(batch: Batch, after: After, decided: Decided): Promise<Done> {
    const tally = plus(this.tally, decided.tally);
    const closing = batch.close?.(tally);
    const events = [...decided.events, ...(closing === undefined ? [] : [toNewEvent(closing)])];
    let { revision, lastEvent } = after;
    if (events.length > 0) {
      const appended = await appendIdempotently(this.log, this.stream, revision, events);
      this.position = appended.position;
      revision = appended.revision;
      lastEvent = events.at(-1)?.id ?? lastEvent;
    }
    Object.assign(this.tally, tally);
    return { decided, revision, lastEvent };
  }

  private decide({ items }: Batch): Decided {
    return decide(this.prints, items, { at: this.at, first: this.first });
  }

  /** What is not folded because the load failed is read from the stream by whoever uses the fingerprints next. */
  private fold(done: Done | undefined): void {
    if (done === undefined) return;
    fold(this.prints, done.decided);
    this.prints.revision = done.revision;
    this.prints.lastEvent = done.lastEvent;
  }
}

function toNewEvent({ type, data }: FeedClosing): NewEvent {
  return { id: randomUUID(), type, data: JSON.stringify(data), meta: '{}' };
}

function plus(a: Tally, b: Tally): Tally {
  return {
    new: a.new + b.new,
    revised: a.revised + b.revised,
    repriced: a.repriced + b.repriced,
    unchanged: a.unchanged + b.unchanged,
    removed: a.removed + b.removed,
  };
}
