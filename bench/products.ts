import { open } from 'node:fs/promises';
import { generateProducts } from './generate';
import { type PostedProduct } from '../src/demo/products';
import { type BodyFormat } from '../src/wire/api/format';

/** Advertiser categories; each product has one. */
export const CATEGORIES = Array.from({ length: 40 }, (_, at) => ({ name: `category ${at}` }));

/** The body of a post with a number of products of about 1 KB, in chunks; the same for the same seed. */
export function* bodyOf(format: BodyFormat, count: number, seed = 1): Generator<string> {
  yield format === 'json' ? '{"products":[' : XML_START;
  let piece = '';
  let separator = '\n';
  for (const product of generateProducts({ count, seed, categories: CATEGORIES })) {
    piece += format === 'json' ? `${separator}${JSON.stringify(product)}` : toXml(product);
    separator = ',\n';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + (format === 'json' ? '\n]}' : '\n</products>');
}

/** Writes such a body to a file. */
export async function writeBody(path: string, format: BodyFormat, count: number): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (const piece of bodyOf(format, count)) await file.appendFile(piece);
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
