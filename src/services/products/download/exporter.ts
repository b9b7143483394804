import { type FileHandle, open } from 'node:fs/promises';
import { delistedAfter, delistings } from '../../../../projections/feeds';
import {
  type ChangesAfter,
  countOffers,
  type FeedBatch,
  offersFromSnapshot,
  presentOffers,
  requireUpTo,
  scanOffers,
} from '../../../../projections/product-download';
import { priceHistory, pricesOf } from '../../../../projections/price-history';
import { products } from '../../../../projections/products';
import { type FollowedDirectory } from '../../../network/follower';
import { type Position } from '../../../kernel/event';
import { EngineUnavailable } from '../../../kernel/event-log';
import { type ReadStore } from '../../../kernel/read-store';
import { type Offer } from '../../../domain/products/offer';
import { type Clock } from '../../../runtime/clock';
import { type OutputProduct, type OutputView, toJsonProduct, toOutput } from '../output';
import { type JoinedFacts, viewOf } from './joined-facts';
import { type Format } from '../../../wire/api/format';
import { inScript, writeJson } from '../../../wire/json/write';
import { xmlPiece } from '../../../wire/xml/write';
import { type CsvStyle, resultText } from '../result-text';

interface FormatOptions {
  readonly format: Format;
  readonly pretty: boolean;
  readonly vendor: string;
  readonly dates: OutputView['dates'];
  readonly csv: CsvStyle;
}

/**
 * A download's text in parts: the head, one record per product, the foot. Any run of records between head and foot is a
 * whole document, so that pages can be cut out of a download.
 */
interface DownloadFormat {
  readonly head: string;
  /** Bytes at the start of a record that part it from the one before it: the first one of a document has none. */
  readonly gap: number;
  record(product: OutputProduct, isFirst: boolean): string;
  /** `removed`: what has gone (`docs/decisions.md#p28`); absent unless changes were asked for. */
  foot(removed?: readonly string[]): string;
}

/** `customFields`: columns of CSV of their own (`docs/decisions.md#p16`). */
export function feedFormat(
  options: FormatOptions,
  totalHits: number,
  customFields?: readonly string[],
): DownloadFormat {
  return options.format === 'json'
    ? jsonFormat(options, totalHits)
    : resultFormat(options, totalHits, customFields);
}

/** A line for each product (`docs/decisions.md#p17`), and such JSON as may stand in a script. */
function jsonFormat({ pretty }: FormatOptions, totalHits: number): DownloadFormat {
  const line = (depth: number) => (pretty ? `\n${'  '.repeat(depth)}` : '');
  const record = (product: OutputProduct) => {
    const text = inScript(writeJson(toJsonProduct(product), { pretty }));
    return pretty ? text.replaceAll('\n', line(2)) : text;
  };
  const colon = pretty ? ': ' : ':';
  const between = pretty ? line(2) : '\n';
  const last = pretty ? line(1) : '\n';
  const total = `${line(1)}"productHeader"${colon}{${line(2)}"totalHits"${colon}${totalHits}${line(1)}}`;
  return {
    head: `{${total},${line(1)}"products"${colon}[`,
    gap: ','.length,
    record: (product, isFirst) => `${isFirst ? '' : ','}${between}${record(product)}`,
    foot: (removed) => {
      if (removed === undefined) return `${last}]${line(0)}}`;
      const list = inScript(writeJson(removed, { pretty })).replaceAll('\n', line(1));
      return `${last}],${line(1)}"removed"${colon}${list}${line(0)}}`;
    },
  };
}

/** The text that the answer to a search has, in XML and in CSV, which does not list what was removed. */
function resultFormat(
  { format, pretty, vendor, dates, csv }: FormatOptions,
  totalHits: number,
  customFields: readonly string[] | undefined,
): DownloadFormat {
  const productHeader = { totalHits };
  const options = { vendor, productHeader, dates, style: csv, customFields };
  const { head, item, foot } = resultText({ format, pretty }, options);
  return {
    head,
    gap: 0,
    record: item,
    foot: (removed) => {
      if (removed === undefined) return foot;
      return foot.replace(END, () => END + xmlPiece('removed', { sourceProductId: removed }, 1, { pretty }));
    },
  };
}

const END = '</products>';

/** Some bytes of a rendered feed. They are overwritten by the next block. */
interface Block {
  readonly bytes: Uint8Array;
  /** Where records end that are whole with this block, in bytes from the start of the feed. */
  readonly ends: readonly number[];
}

/** Bytes of a block, more or less: as many again at most, if no record is larger. */
export const BLOCK = 1024 * 1024;

/** Renders a feed in blocks: the head, then records, the last ones with the foot, for which `removed` is read. */
async function* blocksOf(
  products: AsyncIterable<Iterable<OutputProduct>>,
  format: DownloadFormat,
  removed?: () => AsyncIterable<string>,
): AsyncGenerator<Block> {
  let block: Buffer = Buffer.allocUnsafe(2 * BLOCK);
  let used = block.write(format.head);
  let before = 0;
  let ends: number[] = [];
  let isFirst = true;
  yield { bytes: block.subarray(0, used), ends };
  before = used;
  used = 0;
  for await (const some of products) {
    for (const product of some) {
      const record = format.record(product, isFirst);
      isFirst = false;
      // A UTF-16 unit has three bytes at most.
      const room = 3 * record.length;
      if (used + room > block.length) {
        if (used > 0) yield { bytes: block.subarray(0, used), ends };
        before += used;
        used = 0;
        ends = [];
        if (room > block.length) block = Buffer.allocUnsafe(room);
      }
      used += block.write(record, used);
      ends.push(before + used);
    }
  }
  const foot = Buffer.from(format.foot(removed && (await all(removed()))));
  yield { bytes: Buffer.concat([block.subarray(0, used), foot]), ends };
}

async function all(items: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const item of items) list.push(item);
  return list;
}

type OutputOptions = Pick<OutputView, 'caller' | 'trackerUrl' | 'sourceProductUrl' | 'dates' | 'pastPrices'>;

export interface RenderOptions extends FormatOptions, OutputOptions {
  readonly feedId: number;
  /** In CSV, custom fields have columns of their own. */
  readonly flatten: boolean;
}

export interface RenderRequest extends RenderOptions {
  /** The products, the removals and the directory have to be as of this position, at least. */
  readonly checkpoint: Position;
  readonly joined: JoinedFacts;
  readonly changes?: ChangesAfter;
  /** Products that were removed after this position are listed. */
  readonly removedAfter?: Position;
}

export interface RenderProgress {
  readonly bytes: number;
  /** Where the records end that are new since the last time, in bytes from the start. */
  readonly ends: readonly number[];
  readonly frame: ExportFrame;
}

/** What pages are made with that are cut out of the file, from one record to another. */
interface ExportFrame {
  readonly head: string;
  readonly gap: number;
  readonly foot: string;
  /** How many there will be. */
  readonly records: number;
}

/** Is waited for before rendering continues. */
type ReportProgress = (progress: RenderProgress) => Promise<void>;

/** Ids of removed products that are looked up at once. */
const AT_ONCE = 500;

interface ExporterParts {
  readonly clock: Clock;
  readonly store: ReadStore;
  readonly follower: FollowedDirectory;
}

/** Renders feeds into files, each from one snapshot. */
export class Exporter {
  private readonly running = new Map<AbortController, Promise<void>>();

  private readonly parts: ExporterParts;

  constructor(clock: Clock, store: ReadStore, follower: FollowedDirectory) {
    this.parts = { clock, store, follower };
  }

  /** How many are being rendered: each has a snapshot open. */
  get size(): number {
    return this.running.size;
  }

  /** Renders into a new file, reporting each block, first the head. Raises `EngineUnavailable`, the signal's reason. */
  render(request: RenderRequest, path: string, report: ReportProgress, signal: AbortSignal): Promise<void> {
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    const rendering = this.renderFeed(request, path, report, either).finally(() =>
      this.running.delete(ending),
    );
    this.running.set(ending, rendering);
    return rendering;
  }

  async end(): Promise<void> {
    const all = [...this.running];
    for (const [ending] of all) ending.abort(new EngineUnavailable('the download was broken off'));
    await Promise.allSettled(all.map(([, rendering]) => rendering));
  }

  private async renderFeed(
    request: RenderRequest,
    path: string,
    report: ReportProgress,
    signal: AbortSignal,
  ): Promise<void> {
    let file: FileHandle | undefined;
    try {
      let bytes = 0;
      for await (const { frame, ...block } of renderedBlocks(this.parts, request)) {
        signal.throwIfAborted();
        file ??= await open(path, 'wx', 0o600);
        await append(file, block.bytes);
        bytes += block.bytes.byteLength;
        await report({ bytes, ends: block.ends, frame });
      }
    } finally {
      await file?.close();
    }
  }
}

/** What a download consists of, from one snapshot. Each block overwrites the one before it. */
export async function* renderedBlocks(
  parts: ExporterParts,
  request: RenderRequest,
): AsyncGenerator<Block & { readonly frame: ExportFrame }> {
  const { clock, store, follower } = parts;
  const { feedId, changes, removedAfter, format } = request;
  await follower.reachedInTime(request.checkpoint);
  // A rebuild may have swapped in generations that are behind those that the download was planned by.
  await requireUpTo(clock, store, request.checkpoint, [products]);
  const isVisible = request.caller.kind === 'publisher';
  const ofCaller = { feedId, ...(isVisible ? { isVisible } : {}) };
  const isFlat = format === 'csv' && request.flatten;
  const wanted = { ...ofCaller, ...(changes === undefined ? {} : { changes }) };
  const snapshot = offersFromSnapshot(store, wanted, isFlat);
  try {
    const { checkpoint, customFields, ...found } = await headOf(snapshot);
    if (checkpoint < request.checkpoint) throw new EngineUnavailable('the products have just been rebuilt');
    await follower.reachedInTime(checkpoint);
    if (request.pastPrices !== 'none') await requireUpTo(clock, store, checkpoint, [priceHistory]);
    const total = changes === undefined ? found.total : await countOffers(store, ofCaller);
    const layout = feedFormat(request, total, isFlat ? [...customFields].sort() : undefined);
    const removed =
      removedAfter === undefined ? undefined : () => removedSince(parts, request, isVisible, removedAfter);
    const frame = { head: layout.head, gap: layout.gap, foot: layout.foot(), records: found.total };
    for await (const block of blocksOf(outputOf(parts, snapshot, request), layout, removed))
      yield { ...block, frame };
  } finally {
    await snapshot.return(undefined);
  }
}

/** Offers joined with the directory and their prices; each is a product, as nothing is grouped in a download. */
async function* outputOf(
  { store, follower }: ExporterParts,
  snapshot: AsyncIterable<FeedBatch>,
  request: RenderRequest,
): AsyncGenerator<Iterable<OutputProduct>> {
  const directory = viewOf(request.joined, follower.directory);
  for await (const { offers } of snapshot) {
    const ids = offers.map(({ id }) => id);
    const prices = request.pastPrices === 'none' ? {} : { prices: await pricesOf(store, ids) };
    yield output(offers, { ...request, directory, ...prices });
  }
}

/** `sourceProductId` of what a copy must not have any more: what was removed, and what the caller must not see. */
async function* removedSince(
  { clock, store }: ExporterParts,
  { feedId, checkpoint }: RenderRequest,
  isVisible: boolean,
  after: Position,
): AsyncGenerator<string> {
  await requireUpTo(clock, store, checkpoint, [delistings]);
  for await (const some of delistedAfter(store, feedId, after))
    for (let at = 0; at < some.length; at += AT_ONCE) {
      const part = some.slice(at, at + AT_ONCE);
      const present = await presentOffers(
        store,
        part.map(({ id }) => id),
      );
      for (const { id, sourceProductId } of part) if (!present.has(id)) yield sourceProductId;
    }
  if (!isVisible) return;
  const hidden = { feedId, isVisible: false, changes: { after, categoryIds: [] } };
  for await (const offers of scanOffers(store, hidden))
    for (const { sourceProductId } of offers) yield sourceProductId;
}

/** One by one as they are written, so that none outlives its writing. */
function* output(offers: readonly Offer[], view: OutputView): Generator<OutputProduct> {
  for (const offer of offers) yield toOutput([offer], view);
}

/** The first batch: it comes before any offer is read. */
async function headOf(snapshot: AsyncGenerator<FeedBatch, undefined>): Promise<FeedBatch> {
  const { value } = await snapshot.next();
  if (value === undefined) throw new Error('a snapshot has no batch');
  return value;
}

async function append(file: FileHandle, bytes: Uint8Array): Promise<void> {
  try {
    await file.appendFile(bytes);
  } catch (error) {
    throw new EngineUnavailable('a download could not be written to disk', { cause: error });
  }
}
