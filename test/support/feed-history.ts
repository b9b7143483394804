import { type EventLog } from '../../src/kernel/event-log';
import { type FeedEvent } from '../../src/domain/products/feed';

/** Reads the stream of a feed and tracks its products: every event must change something. */
export class FeedHistory {
  /** Type, product and price of each event. */
  readonly events: string[] = [];
  /** Price of each listed product, in minor units. */
  readonly prices = new Map<string, number>();
  /** Events that repeat an id or change nothing. */
  readonly duplicates: string[] = [];
  /** Sum of unchanged products over all loads. */
  unchanged = 0;
  /** Each listed product without its price, as JSON. */
  private readonly products = new Map<string, string>();
  /** Ids of events and of imports. */
  private readonly ids = new Set<string>();

  /** Reads the events appended since the last call. */
  async readNew(log: EventLog, feedId: number): Promise<this> {
    for await (const batch of log.readStream(`feed-${feedId}`, { from: this.events.length })) {
      for (const { id, type, data } of batch) {
        const event = { type, data: JSON.parse(data) } as FeedEvent;
        const isNew = this.isNew(id);
        const line = lineOf(event);
        if (!this.changes(event) || !isNew) this.duplicates.push(line);
        this.events.push(line);
      }
    }
    return this;
  }

  /** Applies an event; false if it changes nothing or does not fit the state before. */
  private changes({ type, data }: FeedEvent): boolean {
    if (type === 'FeedImported') {
      this.unchanged += data.unchanged;
      return this.isNew(data.importId);
    }
    if (type === 'ProductsDeleted') return data.removed > 0;
    const { sourceProductId: id } = data;
    if (type === 'ProductDelisted') return this.prices.delete(id);
    const [price, product = ''] = [this.prices.get(id), this.products.get(id)];
    this.prices.set(id, data.price);
    if (type === 'ProductRepriced') return price !== undefined && price !== data.price;
    const revised = JSON.stringify(data.product);
    this.products.set(id, revised);
    if (type === 'ProductListed') return price === undefined;
    return price !== undefined && (price !== data.price || product !== revised);
  }

  private isNew(id: string): boolean {
    return this.ids.size < this.ids.add(id).size;
  }
}

function lineOf({ type, data }: FeedEvent): string {
  if (type === 'FeedImported' || type === 'ProductsDeleted') return type;
  return `${type} ${data.sourceProductId}${'price' in data ? ` ${data.price}` : ''}`;
}
