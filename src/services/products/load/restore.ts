import {
  type CurrencyAt,
  emptyTally,
  FEED,
  type FeedClosing,
  type FeedImport,
  type ProductChange,
  type Tally,
  contentOf,
  parseChange,
} from '../../../domain/products/feed';
import { digestOf, type Fingerprints, IdTable } from '../../../domain/products/fingerprints';
import { NO_STREAM, type RecordedEvent, streamOf } from '../../../kernel/event';
import { DamagedLog, type EventLog } from '../../../kernel/event-log';
import { without } from '../../../kernel/values';
import { type Clock } from '../../../runtime/clock';
import { currencyCode, currencyOfCode } from '../../../wire/record/minor-units';
import { FeedWriter, type WriteItem } from './feed-writer';

interface RestoreParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly feedId: number;
  readonly history: LoadHistory;
  /** Stops it between two appends. */
  readonly signal: AbortSignal;
}

/** What was undone, and the id of the load that did it, which is absent if there was nothing to undo. */
export interface Restored {
  readonly loadId?: string;
  readonly tally: Tally;
}

/** Events read without a pause. */
const READ_AT_ONCE = 1000;

/**
 * Undoes a load: appends events that bring its products back as they were before it, except those that have changed
 * since (`docs/decisions.md#x89`), and closes with a `FeedImported` that publishes a version. Each append is complete
 * in itself: what was interrupted is completed by repeating it, and repeating what is complete appends nothing.
 *
 * `fingerprints` are current as of the end of the feed's stream. Other writers may append meanwhile. Raises
 * `EngineUnavailable`.
 */
export async function restoreLoad(fingerprints: Fingerprints, parts: RestoreParts): Promise<Restored> {
  const { clock, log, feedId, history, signal } = parts;
  // Read after the state: it knows every change that the state knows.
  await history.catchUp();
  const started = clock.now();
  const writer = new FeedWriter(clock, log, feedId, fingerprints, started.toISOString(), signal, {
    currencyAt: history.currencyAt,
    onCatchUp: () => history.catchUp(),
  });
  for await (const item of itemsOf(parts)) {
    writer.refuseAfterStop();
    await writer.add(item);
  }
  const loadId = clock.uuid();
  await writer.settle((tally) => {
    if (changesIn(tally) === 0) return undefined;
    return { type: 'FeedImported', data: importOf(tally, { loadId, history, started, ended: clock.now() }) };
  });
  const { tally } = writer;
  return { ...(changesIn(tally) > 0 ? { loadId } : {}), tally };
}

interface EndedRestore extends Pick<RestoreParts, 'history'> {
  readonly loadId: string;
  readonly started: Date;
  readonly ended: Date;
}

function importOf(tally: Tally, { loadId, history, started, ended }: EndedRestore): FeedImport {
  const restores = history.found?.importId;
  return {
    importId: loadId,
    mode: 'update',
    at: ended.toISOString(),
    durationMs: ended.getTime() - started.getTime(),
    ...without(tally, 'unmapped'),
    refused: 0,
    faults: [],
    ...(restores === undefined ? {} : { restores }),
  };
}

function changesIn({ new: listed, revised, repriced, removed }: Tally): number {
  return listed + revised + repriced + removed;
}

/** Removals first, then what needs content, in the order in which that is in the stream. */
async function* itemsOf({ clock, log, feedId, history }: RestoreParts): AsyncGenerator<WriteItem> {
  const isStill = (product: number) => () => !history.hasChangedSince(product);
  for (const { sourceProductId, difference, product } of history.undos())
    if (difference === 'removed')
      yield { kind: 'delist', product: { sourceProductId }, applies: isStill(product) };
  const { new: listed, revised, repriced } = countUndos(history);
  let left = listed + revised + repriced;
  if (left === 0) return;
  for await (const events of log.readStream(streamOf(FEED, feedId), { batchSize: READ_AT_ONCE })) {
    for (const event of events) {
      const restored = history.restoredBy(event);
      if (restored === undefined) continue;
      yield postOf(event, restored, isStill(restored.product));
      left -= 1;
    }
    if (left === 0) return;
    await clock.yield();
  }
}

function postOf(
  { data }: RecordedEvent,
  { sourceProductId, price, currency }: Undo & { readonly price: number; readonly currency: string },
  applies: () => boolean,
): WriteItem {
  const text = Buffer.from(contentOf(data));
  return {
    kind: 'post',
    product: { sourceProductId, price, content: digestOf(text) },
    currency,
    posted: undefined,
    text: () => text,
    textBytes: text.length,
    applies,
  };
}

function countUndos(history: LoadHistory): Tally {
  const tally = emptyTally();
  for (const { difference } of history.undos()) tally[difference] += 1;
  return tally;
}

interface EndedLoad {
  /** Absent from deletions of early versions. */
  readonly importId: string | undefined;
  readonly at: string;
  readonly what: 'update' | 'replace' | 'deletion';
}

/** How to undo what a load has changed in a product. */
export interface Undo {
  readonly sourceProductId: string;
  readonly difference: Undoing;
  /** The number of the product in this history. */
  readonly product: number;
}

/** Events folded without a pause. */
const BATCH = 5000;
/** Ended loads that are remembered for messages. */
const LAST = 5;

/**
 * What one load has changed in a feed, and what has changed since, folded from the feed's stream. A load begins after
 * the event that closes the load or deletion before it: what an aborted load has stored is part of the next one, which
 * publishes it (`docs/decisions.md#x62`).
 */
export class LoadHistory {
  found: EndedLoad | undefined;
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
    private readonly clock: Clock,
    private readonly log: EventLog,
    feedId: number,
    private readonly importId: string,
    readonly currencyAt: CurrencyAt = () => undefined,
  ) {
    this.stream = streamOf(FEED, feedId);
  }

  async catchUp(signal?: AbortSignal): Promise<void> {
    for await (const events of this.log.readStream(this.stream, {
      from: this.revision + 1,
      batchSize: BATCH,
    })) {
      signal?.throwIfAborted();
      for (const event of events) this.fold(event);
      await this.clock.yield();
    }
  }

  /** What brings back the products as they were before the load, without those that have changed since. */
  *undos(): Generator<Undo> {
    for (const undo of this.differences()) if (!this.hasChangedSince(undo.product)) yield undo;
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

  /** Those too that have changed since: they are left alone. */
  *differences(): Generator<Undo> {
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

/** Digits of a digest that are compared: 52 bits, which a number has. */
const DIGITS = 13;

/** States of numbered products in columns, about 23 bytes each, outside the JavaScript heap. */
class ProductStates {
  private listed = new Uint8Array(512);
  private prices = new Float64Array(512);
  private currencies = new Uint16Array(512);
  private digests = new Float64Array(512);
  private contents = new Int32Array(512);

  isListed(product: number): boolean {
    return this.listed[product] === 1;
  }

  priceOf(product: number): number {
    return this.prices[product] ?? 0;
  }

  /** Of its price, ISO 4217; empty if it is unknown. */
  currencyOf(product: number): string {
    return currencyOfCode(this.currencies[product] ?? 0);
  }

  /** Revision of the event that holds its content. */
  contentRevision(product: number): number {
    return this.contents[product] ?? NO_STREAM;
  }

  /** Applies the change that the event of a revision records. */
  apply(product: number, change: ProductChange, revision: number): void {
    this.reserve(product + 1);
    this.listed[product] = change.type === 'ProductDelisted' ? 0 : 1;
    if ('price' in change) {
      this.prices[product] = change.price;
      this.currencies[product] = currencyCode(change.currency);
    }
    if (!('content' in change)) return;
    this.digests[product] = Number.parseInt(change.content.slice(0, DIGITS), 16);
    this.contents[product] = revision;
  }

  copy(product: number, from: ProductStates): void {
    this.reserve(product + 1);
    this.listed[product] = from.listed[product] ?? 0;
    this.prices[product] = from.prices[product] ?? 0;
    this.currencies[product] = from.currencies[product] ?? 0;
    this.digests[product] = from.digests[product] ?? 0;
    this.contents[product] = from.contents[product] ?? 0;
  }

  /** How a product has to change to be as in another table; undefined if it is. */
  difference(product: number, wanted: ProductStates): Undoing | undefined {
    if (!wanted.isListed(product)) return this.isListed(product) ? 'removed' : undefined;
    if (!this.isListed(product)) return 'new';
    if (this.digests[product] !== wanted.digests[product]) return 'revised';
    const isPriced =
      this.prices[product] === wanted.prices[product] &&
      this.currencies[product] === wanted.currencies[product];
    return isPriced ? undefined : 'repriced';
  }

  private reserve(length: number): void {
    if (length <= this.listed.length) return;
    const size = 2 * length;
    this.listed = grown(this.listed, new Uint8Array(size));
    this.prices = grown(this.prices, new Float64Array(size));
    this.currencies = grown(this.currencies, new Uint16Array(size));
    this.digests = grown(this.digests, new Float64Array(size));
    this.contents = grown(this.contents, new Int32Array(size));
  }
}

/** By the names of the load report. */
type Undoing = 'new' | 'revised' | 'repriced' | 'removed';

function grown<Column extends Uint8Array | Uint16Array | Int32Array | Float64Array>(
  from: Column,
  into: Column,
): Column {
  into.set(from);
  return into;
}
