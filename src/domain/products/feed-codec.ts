/**
 * The JSON of a feed's events. A load writes or parses millions of them: where JSON has the usual form it is composed
 * and matched as text. Any other JSON of the same meaning is parsed as such.
 */

import { type NewEvent, type RecordedEvent } from '../../kernel/event';
import { plainJson } from '../../wire/json/write';
import { type ContentMeta, type CurrencyAt, type Product, type ProductChange, type Stock } from './feed';
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
  const back = 'backInStock' in change ? ',"backInStock":true' : '';
  const head = `{"sourceProductId":${JSON.stringify(change.sourceProductId)}${price}${back},"at":"${at}"`;
  return 'content' in change
    ? { id, type, data: `${head}${CONTENT}${contentJson}}`, meta: `{"content":"${change.content}"}` }
    : { id, type, data: `${head}}`, meta: '{}' };
}

function priceJson({
  price,
  currency,
  fellFrom,
}: Extract<ProductChange, { readonly price: number }>): string {
  const fall = fellFrom === undefined ? '' : `,"fellFrom":${fellFrom}`;
  return currency === '' ? `,"price":${price}` : `,"price":${price},"currency":"${currency}"${fall}`;
}

/** Precedes the content, which comes last. Inside a JSON string its quotes would be escaped. */
const CONTENT = ',"product":';

/** What precedes the content, or is the entire event, as `encodeChange` writes it when nothing is escaped. */
const HEAD =
  /^\{"sourceProductId":"([^"\\]*)",(?:"price":(\d{1,15}),(?:"currency":"([A-Z]{3})",)?(?:"fellFrom":(\d{1,15}),)?(?:"backInStock":(true),)?)?"at":"[^"\\]*"/;
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
      const head = parseHead(data, end);
      const { sourceProductId, price, currency } = head;
      const stock = stockIn(data);
      const content = META.exec(meta)?.[1] ?? (JSON.parse(meta) as ContentMeta).content;
      return {
        type,
        sourceProductId,
        price,
        currency: currency ?? currencyAt?.(position) ?? '',
        ...toldIn(head),
        ...(stock === undefined ? {} : { isOutOfStock: stock === 'out' }),
        content: content ?? digestOf(contentOf(data)),
      };
    }
    case 'ProductRepriced': {
      const head = parseHead(data, data.length - 1);
      const { sourceProductId, price, currency } = head;
      const told = { sourceProductId, price, currency: currency ?? currencyAt?.(position) ?? '' };
      return { type, ...told, ...toldIn(head) };
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

/**
 * What the JSON of a content says of the stock: the number of items, or else Google's values of `availability`, in
 * whatever case and with whatever between the words. No other object in it has these keys, and inside a text a
 * quotation mark is escaped.
 */
export function stockIn(content: string): Stock | undefined {
  const at = content.indexOf('"inStock":');
  if (at >= 0) return Number.parseInt(content.slice(at + 10, at + 30), 10) > 0 ? 'in' : 'out';
  const said = content.indexOf('"availability":"');
  if (said < 0) return undefined;
  const words = content
    .slice(said + 16, content.indexOf('"', said + 16))
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  return words === 'instock' ? 'in' : words === 'outofstock' ? 'out' : undefined;
}

/** Parses the first `length` characters of an event. */
function parseHead(data: string, length: number): EventHead {
  const [head, id, price, currency, fellFrom, backInStock] = HEAD.exec(data) ?? [];
  if (id === undefined || head?.length !== length)
    return JSON.parse(`${data.slice(0, length)}}`) as EventHead;
  const fall = fellFrom === undefined ? undefined : Number(fellFrom);
  const back = backInStock !== undefined;
  return { sourceProductId: id, price: Number(price), currency, fellFrom: fall, backInStock: back };
}

interface EventHead {
  readonly sourceProductId: string;
  readonly price: number;
  readonly currency?: string | undefined;
  readonly fellFrom?: number | undefined;
  readonly backInStock?: boolean;
}

/** What a head says beside the price, in the terms of a change. */
function toldIn({ fellFrom, backInStock }: EventHead) {
  return {
    ...(fellFrom === undefined ? {} : { fellFrom }),
    ...(backInStock === true ? { backInStock } : {}),
  };
}
