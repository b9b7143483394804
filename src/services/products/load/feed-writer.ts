import {
  count,
  type CurrencyAt,
  decide,
  emptyTally,
  evolve,
  FEED,
  type FeedClosing,
  type ProductChange,
  type ProductCommand,
  type Tally,
  withStock,
  encodeChange,
  stockIn,
} from '../../../domain/products/feed';
import { type Digest, type Fingerprints } from '../../../domain/products/fingerprints';
import { appendIdempotently, toNewEvent } from '../../../kernel/decider';
import { type NewEvent, type Position, streamOf } from '../../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../../kernel/event-log';
import { mappedCategory, type PostedCategory } from '../../../network/categories/mapped-category';
import { type Directory } from '../../../network/directory';
import { type Clock } from '../../../runtime/clock';
import { Backoff } from '../../../runtime/unavailable';
import { catchUp } from './fingerprint-cache';

/** A command with what its event needs. It is decided again after a conflict. */
export type WriteItem = (
  | (Extract<ProductCommand, { readonly kind: 'post' }> & {
      /** The digest of the bytes that the product was posted as. */
      readonly posted: Digest | undefined;
      /** The content as JSON. */
      readonly text: () => Buffer;
      readonly textBytes: number;
      /** Of its price; without it, that of the writer. */
      readonly currency?: string;
    })
  | Extract<ProductCommand, { readonly kind: 'delist' }>
) & {
  /** Asked whenever it is decided: false for a command that other writers have made void. Without it, it applies. */
  readonly applies?: () => boolean;
};

/** Builds the event that closes a load or a deletion from the counts of all batches; undefined for no event. */
type Close = (tally: Tally) => FeedClosing | undefined;

interface WriteBatch {
  readonly items: readonly WriteItem[];
  readonly close: Close | undefined;
}

interface DecidedBatch extends WriteBatch {
  /** One for each item. */
  readonly changes: readonly (ProductChange | undefined)[];
  readonly events: readonly NewEvent[];
  readonly tally: Tally;
}

interface AppendedBatch extends DecidedBatch {
  /** The last event of the stream. */
  readonly revision: number;
  readonly lastEvent: string;
}

interface WriterOptions {
  /** Decides and counts, but appends nothing and leaves the state as it is. */
  readonly dryRun?: boolean | undefined;
  /** That of posted prices, ISO 4217; without it, or if it is empty, it is unknown. */
  readonly currency?: string;
  readonly currencyAt?: CurrencyAt;
  /** Whether a product with this content is mapped: those that are not are counted. Without it all are. */
  readonly isMapped?: (content: string) => boolean;
  /** Called when the state has caught up with other writers, before the commands are decided again. */
  readonly onCatchUp?: () => Promise<unknown>;
}

type StreamEnd = Pick<AppendedBatch, 'revision' | 'lastEvent'>;

/** Size limit of the event that closes a load or a deletion. */
export const CLOSE_BYTES = 256 * 1024;

/** Conflicts with other writers before a batch fails. */
export const MAX_CONFLICTS = 20;
const BACKOFF_MS = { first: 5, longest: 250 } as const;

export const OVERTAKEN = 'other writers keep changing this feed: post it again to complete the load';
const REPLACED = 'the event log was replaced while the load was being stored: post it again';

/** Bytes of an event beside its product's id and content. */
const OVERHEAD = 512;

/**
 * Writes to one feed: decides by its state, appends in batches, folds what was appended. While a batch is being
 * appended, the next is decided and the previous is folded. All batches of a writer together contain each product once.
 * Raises `EngineUnavailable` after too many conflicts: earlier batches are stored, and the same load completes the
 * rest.
 */
export class FeedWriter {
  /** Of the last append. */
  position: Position | undefined;
  /** Of all appended batches. */
  tally = emptyTally();
  private items: WriteItem[] = [];
  private bytes = 0;
  private appending: Promise<AppendedBatch | undefined> = Promise.resolve(undefined);
  /** How often the state has caught up with other writers: decisions made before or meanwhile are void. */
  private catchUps = 0;
  /** Something was decided that is not decided again after a conflict, and then another writer has appended. */
  private isCommitted = false;
  private overtaken = false;
  private readonly stream: string;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    feedId: number,
    private readonly fingerprints: Fingerprints,
    private readonly at: string,
    /** Stops the writer between two appends. */
    private readonly signal: AbortSignal,
    private readonly options: WriterOptions = {},
  ) {
    this.stream = streamOf(FEED, feedId);
  }

  get currency(): string {
    return this.options.currency ?? '';
  }

  /** Adds a command. Backpressure: if this returns a promise, await it before adding more. */
  add(item: WriteItem): Promise<void> | undefined {
    const bytes =
      OVERHEAD + 3 * item.product.sourceProductId.length + (item.kind === 'post' ? item.textBytes : 0);
    // Leaves room for the closing event.
    const isFull =
      this.items.length === APPEND_LIMITS.events - 1 ||
      this.bytes + bytes > APPEND_LIMITS.bytes - CLOSE_BYTES;
    const flushed = isFull ? this.flush() : undefined;
    this.items.push(item);
    this.bytes += bytes;
    return flushed;
  }

  /** Counts a product that is known to be unchanged. */
  addUnchanged(): void {
    this.commit();
    this.tally.unchanged += 1;
  }

  /** Call it when the state decides which commands are added. */
  commit(): void {
    this.isCommitted = true;
  }

  /**
   * Another writer has appended after the first decisions: a load that ended now could be neither before nor after the
   * other one (`docs/decisions.md#x92`).
   */
  get isOvertaken(): boolean {
    return this.overtaken;
  }

  /** Raises `EngineUnavailable` once the signal has aborted. */
  refuseAfterStop(): void {
    if (this.signal.aborted)
      throw new EngineUnavailable('the load was broken off: the server is being stopped');
  }

  /** Appends all that was added, and the event that closes the load or deletion. */
  async settle(close?: Close): Promise<void> {
    await this.flush(close);
    this.fold(await this.appending);
    this.appending = Promise.resolve(undefined);
  }

  private async flush(close?: Close): Promise<void> {
    const batch: WriteBatch = { items: this.items, close };
    this.items = [];
    this.bytes = 0;
    const { catchUps } = this;
    const decided = this.decide(batch);
    const previous = await this.appending;
    // A previous batch of this writer does not affect this one, but other writers do.
    const isCurrent = catchUps === this.catchUps;
    this.appending = this.append(isCurrent ? decided : this.decide(batch), previous ?? this.fingerprints);
    // A failure is raised by the next flush.
    this.appending.catch(() => undefined);
    this.fold(previous);
  }

  private async append(batch: DecidedBatch, end: StreamEnd): Promise<AppendedBatch> {
    const backoff = new Backoff(this.clock, BACKOFF_MS);
    for (let conflicts = 0; ; conflicts += 1) {
      this.refuseAfterStop();
      try {
        return await this.appendOnce(batch, end);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        if (conflicts === MAX_CONFLICTS) throw new EngineUnavailable(OVERTAKEN, { cause: error });
      }
      await backoff.wait(this.signal);
      if (!(await catchUp(this.clock, this.log, this.stream, this.fingerprints, this.options.currencyAt)))
        throw new EngineUnavailable(REPLACED);
      await this.options.onCatchUp?.();
      // Counted afterwards: a batch decided during the catch-up was decided by a partly folded state.
      this.catchUps += 1;
      this.overtaken ||= this.isCommitted;
      end = this.fingerprints;
      batch = this.decide(batch);
    }
  }

  private async appendOnce(batch: DecidedBatch, end: StreamEnd): Promise<AppendedBatch> {
    const closing = batch.close?.(plus(this.tally, batch.tally));
    const events = [
      ...batch.events,
      ...(closing === undefined ? [] : [toNewEvent(closing, this.clock.uuid())]),
    ];
    let { revision, lastEvent } = end;
    if (events.length > 0 && this.options.dryRun !== true) {
      const appended = await appendIdempotently(this.log, this.stream, revision, events);
      this.position = appended.position;
      revision = appended.revision;
      lastEvent = events.at(-1)?.id ?? lastEvent;
    }
    // What is unchanged, and so appends nothing, is not decided again either.
    if (batch.items.length > 0) this.commit();
    // Read after the append: products may have been counted as unchanged meanwhile.
    this.tally = plus(this.tally, batch.tally);
    return { ...batch, revision, lastEvent };
  }

  private decide({ items, close }: WriteBatch): DecidedBatch {
    const tally = emptyTally();
    const changes: (ProductChange | undefined)[] = [];
    const events: NewEvent[] = [];
    const { currency } = this;
    for (const item of items) {
      const applies = item.applies?.() ?? true;
      const own = item.kind === 'post' ? (item.currency ?? currency) : currency;
      const decided = applies ? decide(this.fingerprints, item, own) : undefined;
      if (applies) count(tally, item, decided);
      const content =
        item.kind === 'post' && decided !== undefined && 'content' in decided ? item.text().toString() : '';
      const change = decided && withStock(this.fingerprints, decided, stockIn(content));
      changes.push(change);
      if (change === undefined) continue;
      if (content !== '' && this.options.isMapped?.(content) === false) tally.unmapped += 1;
      events.push(encodeChange(this.clock.uuid(), change, this.at, content));
    }
    return { items, close, changes, events, tally };
  }

  /** After a failed load, the next user of the state reads what was not folded from the stream. */
  private fold(batch: AppendedBatch | undefined): void {
    if (batch === undefined || this.options.dryRun === true) return;
    const { fingerprints } = this;
    for (const [at, item] of batch.items.entries()) {
      const change = batch.changes[at];
      const number =
        change === undefined ? fingerprints.find(item.product.sourceProductId) : evolve(fingerprints, change);
      if (item.kind === 'post' && item.posted !== undefined) fingerprints.rememberPosted(number, item.posted);
    }
    fingerprints.revision = batch.revision;
    fingerprints.lastEvent = batch.lastEvent;
  }
}

export function plus(a: Tally, b: Tally): Tally {
  return {
    new: a.new + b.new,
    revised: a.revised + b.revised,
    repriced: a.repriced + b.repriced,
    unchanged: a.unchanged + b.unchanged,
    removed: a.removed + b.removed,
    unmapped: a.unmapped + b.unmapped,
  };
}

/** The categories in a product's content as events contain it: elsewhere a quotation mark is escaped. */
const CATEGORIES = /"categories":(\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])/;

/** Category lists whose result is cached: most feeds have far fewer. */
const CACHED = 10_000;

/** Tells whether a product of a feed is mapped (`docs/decisions.md#p13`), by the JSON of its content. */
export function mappedIn(feedId: number, directory: Directory): (content: string) => boolean {
  const cache = new Map<string, boolean>();
  return (content) => {
    const categories = CATEGORIES.exec(content)?.[1] ?? '[]';
    let isMapped = cache.get(categories);
    if (isMapped === undefined) {
      const posted = JSON.parse(categories) as readonly PostedCategory[];
      isMapped = posted.some((one) => mappedCategory(one, feedId, directory) !== undefined);
      if (cache.size >= CACHED) cache.clear();
      cache.set(categories, isMapped);
    }
    return isMapped;
  };
}
