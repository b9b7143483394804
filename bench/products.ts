import { open } from 'node:fs/promises';
import { generateProducts } from './generate';
import { csvLines } from '../src/wire/csv/rows';
import { type PostedProduct } from '../src/demo/products';
import { type BodyFormat } from '../src/wire/api/format';

/** Advertiser categories; each product has one. */
export const CATEGORIES = Array.from({ length: 40 }, (_, at) => ({ name: `category ${at}` }));

/** A format of the body of a post: ours, or a Google Merchant feed in RSS. */
export type FeedText = BodyFormat | 'csv' | 'google';

/** The body of a post with a number of products of about 1 KB, in chunks; the same for the same seed. */
export function* bodyOf(format: FeedText, count: number, seed = 1): Generator<string> {
  const { start, product: text, end } = TEXTS[format];
  yield start;
  let piece = '';
  let isFirst = true;
  for (const product of generateProducts({ count, seed, categories: CATEGORIES })) {
    piece += text(product, isFirst);
    isFirst = false;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + end;
}

/** Writes such a body to a file. */
export async function writeBody(path: string, format: FeedText, count: number, seed = 1): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (const piece of bodyOf(format, count, seed)) await file.appendFile(piece);
  } finally {
    await file.close();
  }
}

/** A sample of the products of such a body, evenly distributed. */
export function* sampleOf(count: number, wanted: number): Generator<PostedProduct> {
  const step = Math.max(1, Math.floor(count / wanted));
  let at = 0;
  for (const product of generateProducts({ count, categories: CATEGORIES })) {
    if (at % step === 0 && at / step < wanted) yield product;
    at += 1;
  }
}

/** Chunk size in characters. */
const PIECE = 256 * 1024;

const XML_START = `<?xml version="1.0" encoding="UTF-8"?>
<products version="3.0" xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common">`;

const csvLine = csvLines([','], '"');
const COLUMNS = [
  ...['sourceProductId', 'name', 'description', 'productUrl', 'price', 'imageUrl', 'categories'],
  ...['availability', 'brand', 'condition', 'deliveryTime', 'ean', 'sku', 'inStock', 'manufacturer', 'model'],
  ...['shippingCost', '(field)colour', '(field)size'],
];

const RSS_START = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>`;

interface BodyText {
  readonly start: string;
  readonly product: (product: PostedProduct, isFirst: boolean) => string;
  readonly end: string;
}

const TEXTS: Readonly<Record<FeedText, BodyText>> = {
  json: {
    start: '{"products":[',
    product: (product, isFirst) => `${isFirst ? '\n' : ',\n'}${JSON.stringify(product)}`,
    end: '\n]}',
  },
  xml: { start: XML_START, product: toXml, end: '\n</products>' },
  csv: { start: csvLine(COLUMNS), product: toCsv, end: '' },
  google: { start: RSS_START, product: toItem, end: '\n</channel></rss>' },
};

function toCsv(product: PostedProduct): string {
  const { price, productImage, categories, fields = [] } = product;
  const cells: Readonly<Record<string, unknown>> = {
    ...product,
    price: price.toFixed(2),
    imageUrl: productImage.url,
    categories: categories.map(({ name }) => name).join(';'),
    ...Object.fromEntries(fields.map(({ name, value }) => [`(field)${name}`, value])),
  };
  return csvLine(COLUMNS.map((column) => cells[column] as string | number | undefined));
}

/** The same facts by Google's names. */
function toItem(product: PostedProduct): string {
  const { price, productImage, categories, fields = [], shippingCost, availability } = product;
  const own = [
    ...[`<title>${product.name}</title>`, `<description>${product.description}</description>`],
    `<link>${product.productUrl}</link>`,
  ];
  const cost = shippingCost === 'free' ? '0' : shippingCost;
  const others = Object.entries({
    id: product.sourceProductId,
    image_link: productImage.url,
    price: `${price.toFixed(2)} EUR`,
    product_type: categories[0]?.name,
    availability: availability?.replaceAll(' ', '_'),
    brand: product.brand,
    condition: product.condition,
    gtin: product.ean,
    mpn: product.sku,
    color: fields[0]?.value,
    size: fields[1]?.value,
    shipping: `<g:country>DE</g:country><g:price>${cost} EUR</g:price>`,
    custom_label_0: product.manufacturer,
    custom_label_1: product.model,
    custom_label_2: product.deliveryTime,
    custom_label_3: product.inStock,
  }).map(([name, value]) => `<g:${name}>${value}</g:${name}>`);
  return `\n<item>\n${[...own, ...others].join('\n')}\n</item>`;
}

/** These products need no escaping; prices have no decimals or two. */
function toXml({
  sourceProductId,
  price,
  productImage,
  categories,
  fields = [],
  ...others
}: PostedProduct): string {
  const simple = Object.entries({ ...others, price: price.toFixed(2) });
  const lines = simple.map(([name, value]) => `<cm:${name}>${String(value)}</cm:${name}>`);
  const inCategories = categories.map(({ name = '' }) => `<cm:category name="${name}"/>`);
  const inFields = fields.map(({ name, value }) => `<cm:field name="${name}">${value}</cm:field>`);
  return `
<product sourceProductId="${sourceProductId}">
<cm:productImage>${productImage.url}</cm:productImage>
${lines.join('\n')}
<cm:categories>${inCategories.join('')}</cm:categories>
<cm:fields>${inFields.join('')}</cm:fields>
</product>`;
}
