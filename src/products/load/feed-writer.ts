import { randomUUID } from 'node:crypto';
import { appendSurely } from '../../kernel/decider';
import { type NewEvent, type Position, streamOf } from '../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { FEED, type FeedImport } from '../feed';
import { applyChange, type Change, decidePosted, toChange, toEvent } from './changes';
import { type Digest, type Fingerprints } from './fingerprints';

/** Something to decide about a feed; decided anew when another writer was faster. */
export type Item =
  | {
      readonly kind: 'posted';
      readonly product: {
        readonly sourceProductId: string;
        readonly price: number;
        readonly content: Digest;
        readonly posted: Digest | undefined;
      };
      readonly textBytes: number;
      /** The content as JSON text. */
      readonly text: () => Buffer;
    }
  | { readonly kind: 'delisted'; readonly product: { readonly sourceProductId: string } };

/** What has become of the products given so far. */
export type Tally = {
  -readonly [Key in 'new' | 'revised' | 'repriced' | 'unchanged' | 'removed']: FeedImport[Key];
};

interface Batch {
  readonly items: readonly Item[];
  /** Its last event: counts what all batches did. */
  readonly close: ((tally: Tally) => FeedImport) | undefined;
}

interface Decided {
  /** What becomes of each item. */
  readonly changes: readonly (Change | undefined)[];
  readonly events: readonly NewEvent[];
  readonly tally: Tally;
}

/** Room for what stands beside a product's content in its event. */
const OVERHEAD = 512;

/**
 * Writes to one feed: decides by its fingerprints, appends in batches, folds what was appended. While a batch is
 * being appended the next is decided. A batch holds each product once, and so do all batches of one writer together.
 */
export class FeedWriter {
  /** Of the last append. */
  position: Position | undefined;
  readonly tally: Tally = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0 };
  private items: Item[] = [];
  private bytes = 0;
  private underWay: Promise<void> = Promise.resolve();
  /** How often another writer was faster. */
  private conflicts = 0;
  private readonly stream: string;

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
  }

  /** When a promise comes back, wait for it before adding the next. */
  add(item: Item): Promise<void> | undefined {
    const bytes =
      OVERHEAD + 3 * item.product.sourceProductId.length + (item.kind === 'posted' ? item.textBytes : 0);
    // One place is kept for the event that closes a load.
    const isFull =
      this.items.length === APPEND_LIMITS.events - 1 ||
      this.bytes + bytes > APPEND_LIMITS.bytes - CLOSE_BYTES;
    const flushed = isFull ? this.flush() : undefined;
    this.items.push(item);
    this.bytes += bytes;
    return flushed;
  }

  /** Counts a product that is known to be unchanged. */
  unchanged(): void {
    this.tally.unchanged += 1;
  }

  /** Appends what has been added. */
  async settle(): Promise<void> {
    await this.flush();
    await this.underWay;
  }

  /** Appends what has been added, and with it the event that closes the load. */
  async close(close?: (tally: Tally) => FeedImport): Promise<void> {
    await this.flush(close);
    await this.underWay;
  }

  private async flush(close?: Batch['close']): Promise<void> {
    const batch: Batch = { items: this.items, close };
    this.items = [];
    this.bytes = 0;
    const { conflicts } = this;
    const decided = this.decide(batch.items);
    await this.underWay;
    // Own appends change nothing that this batch was decided by, another's may.
    this.underWay = this.append(batch, conflicts === this.conflicts ? decided : undefined);
    // Told by whoever waits for it next.
    this.underWay.catch(() => undefined);
  }

  private async append(batch: Batch, decided = this.decide(batch.items)): Promise<void> {
    const { changes, tally } = decided;
    const events =
      batch.close === undefined
        ? decided.events
        : [...decided.events, closing(batch.close(plus(this.tally, tally)))];
    if (this.signal.aborted)
      throw new EngineUnavailable('the load was broken off: the server is being stopped');
    if (events.length > 0) {
      try {
        const appended = await appendSurely(this.log, this.stream, this.prints.revision, events);
        this.position = appended.position;
        this.prints.revision = appended.revision;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        this.conflicts += 1;
        await catchUp(this.log, this.stream, this.prints);
        await this.append(batch);
        return;
      }
    }
    for (const [at, item] of batch.items.entries()) this.fold(item, changes[at]);
    Object.assign(this.tally, plus(this.tally, tally));
  }

  private fold(item: Item, change: Change | undefined): void {
    const product =
      change === undefined
        ? this.prints.find(item.product.sourceProductId)
        : applyChange(this.prints, change);
    if (item.kind !== 'posted' || item.product.posted === undefined) return;
    this.prints.rememberPosted(product, item.product.posted);
  }

  private decide(items: readonly Item[]): Decided {
    const tally: Tally = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0 };
    const changes: (Change | undefined)[] = [];
    const events: NewEvent[] = [];
    for (const item of items) {
      const change =
        item.kind === 'posted'
          ? decidePosted(this.prints, item.product)
          : this.decideDelisted(item.product.sourceProductId);
      changes.push(change);
      if (change === undefined) {
        if (item.kind === 'posted') tally.unchanged += 1;
        continue;
      }
      tally[COUNTED[change.type]] += 1;
      const hasContent = item.kind === 'posted' && 'content' in change;
      events.push(toEvent(change, this.at, hasContent ? item.text().toString() : ''));
    }
    return { changes, events, tally };
  }

  private decideDelisted(sourceProductId: string): Change | undefined {
    const product = this.prints.find(sourceProductId);
    return product >= 0 && this.prints.isListed(product)
      ? { type: 'ProductDelisted', sourceProductId }
      : undefined;
  }
}

const COUNTED = {
  ProductListed: 'new',
  ProductRevised: 'revised',
  ProductRepriced: 'repriced',
  ProductDelisted: 'removed',
} as const;

/** Most bytes of the event that closes a load. */
export const CLOSE_BYTES = 256 * 1024;

function closing(data: FeedImport): NewEvent {
  return { id: randomUUID(), type: 'FeedImported', data: JSON.stringify(data), meta: '{}' };
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

/** Folds what a stream has after the fingerprints' revision, pausing between batches so that other feeds are served. */
export async function catchUp(log: EventLog, stream: string, prints: Fingerprints): Promise<void> {
  for await (const batch of log.readStream(stream, { from: prints.revision + 1 })) {
    for (const event of batch) {
      const change = toChange(event);
      if (change !== undefined) applyChange(prints, change);
      prints.revision = event.revision;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
