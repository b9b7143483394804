import { NO_STREAM, type RecordedEvent, streamOf } from '../../../../kernel/event';
import { DamagedLog, type EventLog } from '../../../../kernel/event-log';
import { type CurrencyAt, FEED, type FeedClosing } from '../../../../domain/products/feed';
import { parseChange } from '../../../../domain/products/feed-codec';
import { IdTable } from '../../../../domain/products/fingerprints';
import { type Difference, grown, ProductStates } from './product-states';

/** A load or a deletion that has ended. */
export interface EndedLoad {
  /** Absent from deletions of early versions. */
  readonly importId: string | undefined;
  /** When it ended: ISO 8601. */
  readonly at: string;
  readonly what: 'update' | 'replace' | 'deletion';
}

/** How to undo what a load has changed in a product. */
export interface Undo {
  readonly sourceProductId: string;
  readonly difference: Difference;
  /** The number of the product in this history. */
  readonly product: number;
}

/** Events folded without a pause. */
const BATCH = 5000;
/** Ended loads that are remembered for messages. */
const LAST = 5;

/**
 * What one load has changed in a feed, and what has changed since, folded from the feed's stream. A load begins after the
 * event that closes the load or deletion before it: what an aborted load has stored is part of the next one, which
 * publishes it (`docs/decisions.md#x62`).
 */
export class LoadHistory {
  /** The load, once found. */
  found: EndedLoad | undefined;
  /** The last loads, oldest first. */
  readonly last: EndedLoad[] = [];
  private readonly ids = new IdTable();
  private readonly now = new ProductStates();
  /** Before the load, for the products that it has changed. */
  private readonly before = new ProductStates();
  /** By product: the load, counted from 1, that has changed it last, until the one in question is found. */
  private changedBy = new Int32Array(512);
  private readonly changedSince = new Set<number>();
  private loads = 1;
  private revision = NO_STREAM;
  private readonly stream: string;

  constructor(
    private readonly log: EventLog,
    feedId: number,
    private readonly importId: string,
    /** For events that do not record their currency; without it, that is unknown. */
    readonly currencyAt: CurrencyAt = () => undefined,
  ) {
    this.stream = streamOf(FEED, feedId);
  }

  /** Reads the events after those read before. */
  async catchUp(): Promise<void> {
    for await (const events of this.log.readStream(this.stream, {
      from: this.revision + 1,
      batchSize: BATCH,
    })) {
      for (const event of events) this.fold(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** What brings back the products as they were before the load, without those that have changed since. */
  *undos(): Generator<Undo> {
    for (const undo of this.differences()) if (!this.hasChangedSince(undo.product)) yield undo;
  }

  /** The products that the load has changed and that have changed again since: they are not as before the load. */
  *changedAgain(): Generator<Undo> {
    for (const undo of this.differences()) if (this.hasChangedSince(undo.product)) yield undo;
  }

  hasChangedSince(product: number): boolean {
    return this.changedSince.has(product);
  }

  /** The product whose content before the load this event holds, if it has to be restored; undefined for any other. */
  restoredBy(
    event: RecordedEvent,
  ): (Undo & { readonly price: number; readonly currency: string }) | undefined {
    const change = parseChange(event, this.currencyAt);
    if (change === undefined || !('content' in change)) return undefined;
    const { sourceProductId } = change;
    const product = this.ids.find(sourceProductId);
    if (this.changedBy[product] !== this.loads || this.before.contentRevision(product) !== event.revision)
      return undefined;
    const difference = this.now.difference(product, this.before);
    if (difference === undefined || difference === 'removed' || this.hasChangedSince(product))
      return undefined;
    const [price, currency] = [this.before.priceOf(product), this.before.currencyOf(product)];
    return { sourceProductId, difference, product, price, currency };
  }

  private *differences(): Generator<Undo> {
    if (this.found === undefined) return;
    for (let product = 0; product < this.ids.size; product += 1) {
      const difference =
        this.changedBy[product] === this.loads ? this.now.difference(product, this.before) : undefined;
      if (difference !== undefined) yield { sourceProductId: this.ids.idOf(product), difference, product };
    }
  }

  private fold(event: RecordedEvent): void {
    if (event.revision !== this.revision + 1)
      throw new DamagedLog(`${this.stream} has no event of revision ${this.revision + 1}`);
    this.revision = event.revision;
    const change = parseChange(event, this.currencyAt);
    if (change === undefined) {
      this.close(event);
      return;
    }
    const product = this.ids.add(change.sourceProductId);
    if (this.found !== undefined) this.changedSince.add(product);
    else this.remember(product);
    this.now.apply(product, change, event.revision);
  }

  /** Before the first change by a load. */
  private remember(product: number): void {
    if (product >= this.changedBy.length)
      this.changedBy = grown(this.changedBy, new Int32Array(2 * product + 2));
    if (this.changedBy[product] === this.loads) return;
    this.changedBy[product] = this.loads;
    this.before.copy(product, this.now);
  }

  private close(event: RecordedEvent): void {
    const load = endedLoad(event);
    this.last.push(load);
    if (this.last.length > LAST) this.last.shift();
    if (this.found !== undefined) return;
    if (load.importId === this.importId) this.found = load;
    else this.loads += 1;
  }
}

/** The load or deletion that such an event closes. */
export function endedLoad({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): EndedLoad {
  const closing = { type, data: JSON.parse(data) as unknown } as FeedClosing;
  const { importId, at } = closing.data;
  return { importId, at, what: closing.type === 'ProductsDeleted' ? 'deletion' : closing.data.mode };
}
