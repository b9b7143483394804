import { type Format } from '../../wire/api/format';
import { jsonList, type ListText, xmlList } from '../../wire/record/list';
import { type OutputProduct, type OutputView, toJsonProduct } from './output';
import { csvLayout, type CsvStyle } from './output-csv';
import { toXmlProduct, toXmlResult } from './output-xml';

interface ResultOptions {
  readonly vendor: string;
  readonly productHeader: { readonly totalHits: number; readonly nextCursor?: string };
  readonly dates: OutputView['dates'];
  readonly style: CsvStyle;
  readonly customFields?: readonly string[] | undefined;
}

/** Writes the result of a search (Document 1, Product (search and bulk output); CSV export). */
export function resultText(
  view: { readonly format: Format; readonly pretty: boolean },
  { vendor, productHeader, dates, style, customFields }: ResultOptions,
): ListText<OutputProduct> {
  if (view.format === 'csv') {
    const { header, rows } = csvLayout({ ...style, dates, customFields });
    return { empty: header(), head: header(), item: rows, foot: '' };
  }
  if (view.format === 'xml') {
    const list = { list: 'products', item: 'product', depth: 1 };
    const text = xmlList(view, toXmlResult(vendor, productHeader, [], dates), list);
    return { ...text, item: (product, isFirst) => text.item(toXmlProduct(product, dates), isFirst) };
  }
  const text = jsonList(view, { before: { productHeader }, name: 'products' });
  return { ...text, item: (product, isFirst) => text.item(toJsonProduct(product), isFirst) };
}
