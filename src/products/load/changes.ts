import { randomUUID } from 'node:crypto';
import { type NewEvent, type RecordedEvent } from '../../kernel/event';
import { plainJson } from '../../wire/plain-json';
import { type Product, type ProductMeta } from '../feed';
import { type Digest, type Fingerprints, digestOf } from './fingerprints';

/** A product's event, in the shape that fingerprints are folded from. */
export type Change =
  | {
      readonly type: 'ProductListed' | 'ProductRevised';
      readonly sourceProductId: string;
      readonly price: number;
      readonly content: Digest;
    }
  | { readonly type: 'ProductRepriced'; readonly sourceProductId: string; readonly price: number }
  | { readonly type: 'ProductDelisted'; readonly sourceProductId: string };

/** What all events of a load bear: its time, ISO 8601, and where it began (`ProductMeta`). */
export interface LoadMark extends Pick<ProductMeta, 'first'> {
  readonly at: string;
}

let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * A product's content as its events hold it, in JSON: bytes that hold until the next call. Their digest tells whether
 * it has changed. `isPlain`: it was posted as JSON without a backslash.
 */
export function contentOf(
  product: Product,
  isPlain = false,
): { readonly json: Buffer; readonly digest: Digest } {
  const text = isPlain ? plainJson(product) : JSON.stringify(product);
  // A UTF-16 unit has three bytes at most.
  if (text.length * 3 > scratch.length) scratch = Buffer.allocUnsafeSlow(text.length * 6);
  const json = scratch.subarray(0, scratch.write(text));
  return { json, digest: digestOf(json) };
}

/**
 * What being posted means for a product (Document 1, Behaviour rules for posting): nothing when it is the same, an
 * event of its own for a price alone.
 */
export function decidePosted(
  prints: Fingerprints,
  posted: { readonly sourceProductId: string; readonly content: Digest; readonly price: number },
): Change | undefined {
  const { sourceProductId, content, price } = posted;
  const product = prints.find(sourceProductId);
  if (product < 0 || !prints.isListed(product))
    return { type: 'ProductListed', sourceProductId, price, content };
  if (!prints.hasContent(product, content))
    return { type: 'ProductRevised', sourceProductId, price, content };
  if (prints.priceOf(product) !== price) return { type: 'ProductRepriced', sourceProductId, price };
  return undefined;
}

/** Folds a change that has been appended; gives the product's number. */
export function applyChange(prints: Fingerprints, change: Change): number {
  switch (change.type) {
    case 'ProductListed':
    case 'ProductRevised':
      return prints.set(change.sourceProductId, change.content, change.price);
    case 'ProductRepriced':
      return prints.reprice(change.sourceProductId, change.price);
    case 'ProductDelisted':
      return prints.remove(change.sourceProductId);
  }
}

/** The event of a change; `contentJson` is the product's content, for those that hold it. */
export function toEvent(change: Change, { at, first }: LoadMark, contentJson: string): NewEvent {
  const { type } = change;
  const id = randomUUID();
  const product = JSON.stringify(change.sourceProductId);
  switch (type) {
    case 'ProductListed':
    case 'ProductRevised': {
      // The digest is kept beside the event, so that fingerprints are folded without reading the content.
      const meta = `{"content":"${change.content}","first":${first}}`;
      const head = `{"sourceProductId":${product},"price":${change.price},"at":"${at}"`;
      return { id, type, data: `${head}${CONTENT}${contentJson}}`, meta };
    }
    case 'ProductRepriced': {
      const data = `{"sourceProductId":${product},"price":${change.price},"at":"${at}"}`;
      return { id, type, data, meta: `{"first":${first}}` };
    }
    case 'ProductDelisted':
      return {
        id,
        type,
        data: `{"sourceProductId":${product},"at":"${at}"}`,
        meta: `{"first":${first}}`,
      };
  }
}

/** Before the content, which comes last. Inside a JSON string its quotes would be escaped. */
const CONTENT = ',"product":';

/** What comes before the content, or makes up the event: as `toEvent` writes it where nothing has to be escaped. */
const HEAD = /^\{"sourceProductId":"([^"\\]*)",(?:"price":(\d{1,15}),)?"at":"[^"\\]*"/;
const META = /^\{"content":"([^"\\]*)"[,}]/;

/** The change that a recorded event of a feed is, or undefined if it is about no product. */
export function toChange({ type, data, meta }: RecordedEvent): Change | undefined {
  switch (type) {
    case 'ProductListed':
    case 'ProductRevised': {
      const at = data.indexOf(CONTENT);
      const { sourceProductId, price } = headOf(data, at);
      const content = META.exec(meta)?.[1] ?? (JSON.parse(meta) as Partial<ProductMeta>).content;
      return {
        type,
        sourceProductId,
        price,
        content: content ?? digestOf(data.slice(at + CONTENT.length, -1)),
      };
    }
    case 'ProductRepriced': {
      const { sourceProductId, price } = headOf(data, data.length - 1);
      return { type, sourceProductId, price };
    }
    case 'ProductDelisted':
      return { type, sourceProductId: headOf(data, data.length - 1).sourceProductId };
    default:
      return undefined;
  }
}

/** The first `length` characters of an event, by their places where they have the usual ones: there are millions. */
function headOf(data: string, length: number): { readonly sourceProductId: string; readonly price: number } {
  const [head, sourceProductId, price] = HEAD.exec(data) ?? [];
  if (sourceProductId !== undefined && head?.length === length)
    return { sourceProductId, price: Number(price) };
  return JSON.parse(`${data.slice(0, length)}}`) as { sourceProductId: string; price: number };
}
