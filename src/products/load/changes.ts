import { randomUUID } from 'node:crypto';
import { type NewEvent, type RecordedEvent } from '../../kernel/event';
import { plainJson } from '../../wire/plain-json';
import { type Product } from '../feed';
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
export function toEvent(change: Change, at: string, contentJson: string): NewEvent {
  const { type } = change;
  const id = randomUUID();
  const product = JSON.stringify(change.sourceProductId);
  switch (type) {
    case 'ProductListed':
    case 'ProductRevised': {
      // The digest is kept beside the event, so that fingerprints are folded without reading the content.
      const meta = `{"content":"${change.content}"}`;
      const head = `{"sourceProductId":${product},"price":${change.price},"at":"${at}"`;
      return { id, type, data: `${head}${CONTENT}${contentJson}}`, meta };
    }
    case 'ProductRepriced': {
      const data = `{"sourceProductId":${product},"price":${change.price},"at":"${at}"}`;
      return { id, type, data, meta: '{}' };
    }
    case 'ProductDelisted':
      return { id, type, data: `{"sourceProductId":${product},"at":"${at}"}`, meta: '{}' };
  }
}

/** Before the content, which comes last. Inside a JSON string its quotes would be escaped. */
const CONTENT = ',"product":';

/** The change that a recorded event of a feed is, or undefined if it is about no product. */
export function toChange(event: RecordedEvent): Change | undefined {
  switch (event.type) {
    case 'ProductListed':
    case 'ProductRevised': {
      const at = event.data.indexOf(CONTENT);
      const head = JSON.parse(`${event.data.slice(0, at)}}`) as { sourceProductId: string; price: number };
      const { content } = JSON.parse(event.meta) as { content?: Digest };
      return {
        type: event.type,
        ...head,
        content: content ?? digestOf(event.data.slice(at + CONTENT.length, -1)),
      };
    }
    case 'ProductRepriced':
      return { type: event.type, ...(JSON.parse(event.data) as { sourceProductId: string; price: number }) };
    case 'ProductDelisted':
      return { type: event.type, ...(JSON.parse(event.data) as { sourceProductId: string }) };
    default:
      return undefined;
  }
}
