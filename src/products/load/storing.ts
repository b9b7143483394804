import { type FeedImport } from '../feed';
import { type FeedWriter } from './feed-writer';
import { type Fingerprints } from './fingerprints';
import { type Held, type Known } from './held';
import { type Receiver } from './receiver';
import { type Spool } from './spool';

/** A body that has been received, and the feed that it goes into. */
export interface Storing {
  readonly spool: Spool;
  readonly receiver: Receiver;
  /** Current as of the end of the feed's stream. */
  readonly prints: Fingerprints;
  readonly writer: FeedWriter;
}

/** Decides what each product of a body means for the feed, and appends it; a replacement delists the others. */
export async function storeReceived(storing: Storing, mode: FeedImport['mode']): Promise<void> {
  for await (const some of storing.spool.read()) {
    storing.writer.refuseAfterStop();
    for (const held of some) {
      if (!storing.receiver.isLast(held.number, held.head.sequence)) continue;
      const full = store(held, storing);
      if (full !== undefined) await full;
    }
  }
  if (mode === 'replace') await delistOthers(storing);
}

function store({ head, textBytes, text }: Held, storing: Storing): Promise<void> | undefined {
  const { prints, writer } = storing;
  if (head.kind === 'checked') return writer.add({ kind: 'posted', product: head, textBytes, text });
  if (!isStill(head, prints)) return storeAgain(head, text(), storing);
  writer.unchanged();
  return undefined;
}

function isStill({ sourceProductId, posted }: Known, prints: Fingerprints): boolean {
  const product = prints.find(sourceProductId);
  return product >= 0 && prints.isListed(product) && prints.hasPosted(product, posted);
}

/** A product whose bytes were known when they came, but the feed has changed since. */
function storeAgain(
  { sequence }: Known,
  bytes: Buffer,
  { receiver, writer }: Storing,
): Promise<void> | undefined {
  const usable = receiver.again(bytes, sequence);
  if (usable === undefined) return undefined;
  const text = Buffer.from(usable.text);
  return writer.add({ kind: 'posted', product: usable.head, textBytes: text.length, text: () => text });
}

/** Delists what a replacement did not name, once everything it did name has been appended. */
async function delistOthers({ receiver, writer, prints }: Storing): Promise<void> {
  await writer.settle();
  for (const sourceProductId of prints.listedIds()) {
    if (!receiver.names(sourceProductId))
      await writer.add({ kind: 'delisted', product: { sourceProductId } });
  }
}
