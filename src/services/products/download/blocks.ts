import { type OutputProduct } from '../output';
import { type FeedFormat } from './feed-format';

/** Some bytes of a rendered feed. They are overwritten by the next block. */
export interface Block {
  readonly bytes: Uint8Array;
  /** Where records end that are whole with this block, in bytes from the start of the feed. */
  readonly ends: readonly number[];
}

/** Bytes of a block, more or less: as many again at most, if no record is larger. */
export const BLOCK = 1024 * 1024;

/**
 * Renders a feed in blocks: the head, so that it can be sent at once, then records, the last ones with the foot. `removed` is
 * asked for when all records are done.
 */
export async function* blocksOf(
  products: AsyncIterable<Iterable<OutputProduct>>,
  format: FeedFormat,
  removed?: () => AsyncIterable<string>,
): AsyncGenerator<Block> {
  let block: Buffer = Buffer.allocUnsafe(2 * BLOCK);
  let used = block.write(format.head);
  let before = 0;
  let ends: number[] = [];
  let isFirst = true;
  yield { bytes: block.subarray(0, used), ends };
  before = used;
  used = 0;
  for await (const some of products) {
    for (const product of some) {
      const record = format.record(product, isFirst);
      isFirst = false;
      // A UTF-16 unit has three bytes at most.
      const room = 3 * record.length;
      if (used + room > block.length) {
        if (used > 0) yield { bytes: block.subarray(0, used), ends };
        before += used;
        used = 0;
        ends = [];
        if (room > block.length) block = Buffer.allocUnsafe(room);
      }
      used += block.write(record, used);
      ends.push(before + used);
    }
  }
  const foot = Buffer.from(format.foot(removed && (await all(removed()))));
  yield { bytes: Buffer.concat([block.subarray(0, used), foot]), ends };
}

async function all(items: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const item of items) list.push(item);
  return list;
}
