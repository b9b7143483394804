import { type FeedImport } from '../../../../domain/products/feed';
import { type Fingerprints } from '../../../../domain/products/fingerprints';
import { type ProductIntake } from '../ingest/product-intake';
import { type Spool } from '../ingest/spool';
import { type RepeatedProduct, type SpooledProduct } from '../ingest/spool-records';
import { type FeedWriter } from './feed-writer';

/** A complete body, and the feed to append it to. */
export interface CompleteBody {
  readonly spool: Spool;
  readonly intake: ProductIntake;
  /** Current as of the end of the feed's stream. */
  readonly state: Fingerprints;
  readonly writer: FeedWriter;
}

/** Has each product of a body decided and appended; a replacement delists all others. */
export async function appendBody(body: CompleteBody, mode: FeedImport['mode']): Promise<void> {
  const { spool, intake, writer } = body;
  for await (const products of spool.read()) {
    writer.refuseAfterStop();
    for (const product of products) {
      if (!intake.isLast(product.number, product.head.sequence)) continue;
      const full = append(product, body);
      if (full !== undefined) await full;
    }
  }
  if (mode === 'replace') await delistOthers(body);
}

function append(
  { head, text, textBytes }: SpooledProduct,
  { intake, state, writer }: CompleteBody,
): Promise<void> | undefined {
  if (head.kind === 'valid')
    return writer.add({ kind: 'post', product: head, posted: head.posted, text, textBytes });
  if (isUnchanged(head, state, writer.currency)) {
    writer.addUnchanged();
    return undefined;
  }
  // The feed has changed since the product was recognised, or its currency has.
  const valid = intake.revalidate(text(), head.sequence);
  if (valid === undefined) return undefined;
  const content = Buffer.from(valid.text);
  return writer.add({
    kind: 'post',
    product: valid.head,
    posted: valid.head.posted,
    text: () => content,
    textBytes: content.length,
  });
}

function isUnchanged(
  { sourceProductId, posted }: RepeatedProduct,
  state: Fingerprints,
  currency: string,
): boolean {
  const product = state.find(sourceProductId);
  return state.isListed(product) && state.hasPosted(product, posted) && state.isIn(product, currency);
}

/** Delists what a replacement did not name, after everything it named has been appended. */
async function delistOthers({ intake, writer, state }: CompleteBody): Promise<void> {
  await writer.settle();
  for (const sourceProductId of state.listedIds()) {
    if (!intake.names(sourceProductId)) await writer.add({ kind: 'delist', product: { sourceProductId } });
  }
}
