/**
 * The JSON of a feed's events. A load writes or parses millions of them: where JSON has the usual form it is composed
 * and matched as text. Any other JSON of the same meaning is parsed as such.
 */

import { type NewEvent, type RecordedEvent } from '../../kernel/event';
import { plainJson } from '../../wire/json/write';
import { type ContentMeta, type CurrencyAt, type Product, type ProductChange } from './feed';
import { type Digest, digestOf } from './fingerprints';

let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * The JSON of a product's content and its digest, which changes whenever the content does. The bytes are valid until
 * the next call. `isPlain`: the product was posted as JSON without a backslash.
 */
export function encodeContent(
  product: Product,
  isPlain = false,
): { readonly json: Buffer; readonly digest: Digest } {
  const text = isPlain ? plainJson(product) : JSON.stringify(product);
  // A UTF-16 unit takes three bytes at most.
  if (text.length * 3 > scratch.length) scratch = Buffer.allocUnsafeSlow(text.length * 6);
  const json = scratch.subarray(0, scratch.write(text));
  return { json, digest: digestOf(json) };
}

/** The event of a change at an ISO 8601 instant; `contentJson` is needed for those that hold the content. */
export function encodeChange(id: string, change: ProductChange, at: string, contentJson: string): NewEvent {
  const { type } = change;
  const price = 'price' in change ? priceJson(change) : '';
  const head = `{"sourceProductId":${JSON.stringify(change.sourceProductId)}${price},"at":"${at}"`;
  return 'content' in change
    ? { id, type, data: `${head}${CONTENT}${contentJson}}`, meta: `{"content":"${change.content}"}` }
    : { id, type, data: `${head}}`, meta: '{}' };
}

function priceJson({ price, currency }: Extract<ProductChange, { readonly price: number }>): string {
  return currency === '' ? `,"price":${price}` : `,"price":${price},"currency":"${currency}"`;
}

/** Precedes the content, which comes last. Inside a JSON string its quotes would be escaped. */
const CONTENT = ',"product":';

/** What precedes the content, or is the entire event, as `encodeChange` writes it when nothing is escaped. */
const HEAD =
  /^\{"sourceProductId":"([^"\\]*)",(?:"price":(\d{1,15}),(?:"currency":"([A-Z]{3})",)?)?"at":"[^"\\]*"/;
const META = /^\{"content":"([^"\\]*)"[,}]/;

/** The change of a product that an event records. `currencyAt`: for events that do not record the currency. */
export function parseChange(
  { type, data, meta, position }: RecordedEvent,
  currencyAt?: CurrencyAt,
): ProductChange | undefined {
  switch (type) {
    case 'ProductListed':
    case 'ProductRevised': {
      const end = data.indexOf(CONTENT);
      const { sourceProductId, price, currency } = parseHead(data, end);
      const content = META.exec(meta)?.[1] ?? (JSON.parse(meta) as ContentMeta).content;
      return {
        type,
        sourceProductId,
        price,
        currency: currency ?? currencyAt?.(position) ?? '',
        content: content ?? digestOf(contentOf(data)),
      };
    }
    case 'ProductRepriced': {
      const { sourceProductId, price, currency } = parseHead(data, data.length - 1);
      return { type, sourceProductId, price, currency: currency ?? currencyAt?.(position) ?? '' };
    }
    case 'ProductDelisted':
      return { type, sourceProductId: parseHead(data, data.length - 1).sourceProductId };
    default:
      return undefined;
  }
}

/** The JSON of the content that an event holds, as it was encoded. */
export function contentOf(data: string): string {
  return data.slice(data.indexOf(CONTENT) + CONTENT.length, -1);
}

/** Parses the first `length` characters of an event. */
function parseHead(data: string, length: number): EventHead {
  const [head, sourceProductId, price, currency] = HEAD.exec(data) ?? [];
  if (sourceProductId !== undefined && head?.length === length)
    return { sourceProductId, price: Number(price), currency };
  return JSON.parse(`${data.slice(0, length)}}`) as EventHead;
}

interface EventHead {
  readonly sourceProductId: string;
  readonly price: number;
  readonly currency?: string | undefined;
}
