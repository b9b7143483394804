import { type Format } from '../../../wire/api/format';
import { inScript, writeJson } from '../../../wire/json/write';
import { xmlPiece } from '../../../wire/xml/write';
import { type OutputProduct, type OutputView, toJsonProduct } from '../output';
import { type CsvStyle, resultText } from '../result-text';

export interface FormatOptions {
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
interface FeedFormat {
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
): FeedFormat {
  return options.format === 'json'
    ? jsonFormat(options, totalHits)
    : resultFormat(options, totalHits, customFields);
}

/** A line for each product (`docs/decisions.md#p17`), and such JSON as may stand in a script. */
function jsonFormat({ pretty }: FormatOptions, totalHits: number): FeedFormat {
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
): FeedFormat {
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
export interface Block {
  readonly bytes: Uint8Array;
  /** Where records end that are whole with this block, in bytes from the start of the feed. */
  readonly ends: readonly number[];
}

/** Bytes of a block, more or less: as many again at most, if no record is larger. */
export const BLOCK = 1024 * 1024;

/** Renders a feed in blocks: the head, then records, the last ones with the foot, for which `removed` is read. */
export async function* blocksOf(
  products: AsyncIterable<Iterable<OutputProduct>>,
  format: FeedFormat,
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
