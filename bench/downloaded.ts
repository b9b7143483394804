import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { pipeline, type Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { SaxesParser } from 'saxes';
import { type OutputProduct } from '../src/services/products/output';

export type DownloadFormat = 'json' | 'xml' | 'csv';

/** The compared fields of a product, by the names of their CSV columns. */
const COMPARED = [
  ...(['id', 'TDProductId', 'feedId', 'groupingId', 'language', 'name', 'description', 'imageUrl'] as const),
  ...(['MerchantCategoryName', 'TDCategoryName', 'TDCategoryId', 'productUrl', 'price', 'modified'] as const),
  ...(['programName', 'programLogo', 'availability', 'condition', 'deliveryTime', 'shippingCost'] as const),
  ...(['brand', 'manufacturer', 'model', 'inStock', 'ean', 'sku', 'fields'] as const),
];

type Row = Readonly<Partial<Record<string, string | number>>>;

/** A product in JSON: its price is a number. */
interface JsonProduct extends Pick<OutputProduct, 'categories' | 'identifiers' | 'fields' | 'productImage'> {
  readonly offers: readonly [Row];
}

const ROWS: Readonly<Record<DownloadFormat, (body: Readable) => AsyncIterable<Row>>> = {
  json: jsonRows,
  xml: xmlRows,
  csv: csvRows,
};

/** Reads a download in constant memory: the number of products and a digest that is the same in all formats. */
export async function digestOf(
  format: DownloadFormat,
  body: Readable,
): Promise<{ readonly products: number; readonly digest: string }> {
  const hash = createHash('sha256');
  let products = 0;
  for await (const row of ROWS[format](body)) {
    hash.update(JSON.stringify(COMPARED.map((name) => String(row[name] ?? ''))));
    products += 1;
  }
  return { products, digest: hash.digest('hex') };
}

/** One product per line, except the first and the last line. */
async function* jsonRows(body: Readable): AsyncGenerator<Row> {
  for await (const line of createInterface({ input: body })) {
    if (!line.startsWith('{"name"')) continue;
    const written = JSON.parse(line.replace(/,$/, '')) as JsonProduct;
    const { offers, categories, identifiers, fields = [], productImage, ...product } = written;
    const [{ price, sourceProductId = '', ...offer }] = offers;
    const list = (name: 'id' | 'name' | 'tdCategoryName') =>
      categories.map((category) => category[name]).join(';');
    yield {
      ...product,
      ...identifiers,
      ...offer,
      TDProductId: sourceProductId,
      price: Number(price).toFixed(2),
      imageUrl: productImage.url,
      MerchantCategoryName: list('name'),
      TDCategoryName: list('tdCategoryName'),
      TDCategoryId: list('id'),
      fields: fields.map(({ name, value }) => `${name}:${value}`).join(';'),
    };
  }
}

async function* csvRows(body: Readable): AsyncGenerator<Row> {
  const rows = pipeline(body, parse({ columns: true }), () => undefined);
  for await (const row of rows) yield row as Row;
}

/** Elements by local name, attributes by the name of their CSV column. */
async function* xmlRows(body: Readable): AsyncGenerator<Row> {
  const parser = new SaxesParser();
  let ready: Row[] = [];
  let row: Record<string, string> = {};
  let text = '';
  const add = (name: string, value: string | undefined): void => {
    row[name] = row[name] === undefined ? (value ?? '') : `${row[name]};${value ?? ''}`;
  };
  let fieldName = '';
  parser.on('opentag', ({ name, attributes }) => {
    text = '';
    if (name === 'product')
      row = { language: attributes['language'] ?? '', groupingId: attributes['groupingId'] ?? '' };
    if (name === 'offer') {
      row['id'] = attributes['id'] ?? '';
      row['TDProductId'] = attributes['sourceProductId'] ?? '';
      row['modified'] = attributes['modifiedDate'] ?? '';
    }
    if (name === 'ns2:field') fieldName = attributes['name'] ?? '';
    if (name !== 'ns2:category') return;
    add('MerchantCategoryName', attributes['name']);
    add('TDCategoryName', attributes['tdCategoryName']);
    add('TDCategoryId', attributes['id']);
  });
  parser.on('text', (part) => (text += part));
  parser.on('closetag', ({ name }) => {
    const local = name.replace('ns2:', '');
    if (local === 'product') ready.push(row);
    else if (local === 'field') add('fields', `${fieldName}:${text}`);
    else if (local === 'productImage') row['imageUrl'] = text;
    else if (local !== 'fields') row[local] ??= text;
  });
  body.setEncoding('utf8');
  for await (const chunk of body) {
    parser.write(chunk as string);
    yield* ready;
    ready = [];
  }
  parser.close();
  yield* ready;
}
