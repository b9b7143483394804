import { type Format } from '../../wire/format';
import { inScript } from '../../wire/jsonp';
import { writeJson } from '../../wire/json-write';
import { writeXml, xmlPiece } from '../../wire/xml-write';
import { csvLayout, type CsvStyle } from '../output-csv';
import { type OutputProduct, type OutputView, toJsonProduct } from '../output';
import { toXmlProduct, toXmlResult } from '../output-xml';

/** How the products of a download are written. */
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
export interface FeedFormat {
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
  switch (options.format) {
    case 'xml':
      return xmlFormat(options, totalHits);
    case 'csv':
      return csvFormat(options, customFields);
    default:
      return jsonFormat(options, totalHits);
  }
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

const NO_PRODUCTS = '<products/>';

/** The text that the answer to a search has. */
function xmlFormat({ pretty, vendor, dates }: FormatOptions, totalHits: number): FeedFormat {
  const empty = writeXml(toXmlResult(vendor, { totalHits }, [], dates), { pretty });
  const at = empty.indexOf(NO_PRODUCTS);
  const end = empty.slice(at + NO_PRODUCTS.length);
  const closing = `${pretty ? '\n  ' : ''}</products>`;
  return {
    head: `${empty.slice(0, at)}<products>`,
    gap: 0,
    record: (product) => xmlPiece('product', toXmlProduct(product, dates), 2, { pretty }),
    foot: (removed) => {
      if (removed === undefined) return closing + end;
      return closing + xmlPiece('removed', { sourceProductId: removed }, 1, { pretty }) + end;
    },
  };
}

function csvFormat({ csv, dates }: FormatOptions, customFields: readonly string[] | undefined): FeedFormat {
  const layout = csvLayout({ ...csv, dates, customFields });
  return {
    head: layout.header(),
    gap: 0,
    record: (product) => layout.rows(product),
    foot: () => '',
  };
}
