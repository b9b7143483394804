/**
 * Splits items into batches, in order and on demand: each has at most `count` items, of at most `size` together. An item that
 * is larger is a batch of its own.
 */
export function* batchesOf<Item>(
  items: Iterable<Item>,
  { count, size }: { readonly count: number; readonly size: number },
  sizeOf: (item: Item) => number,
): Generator<[Item, ...Item[]]> {
  let batch: [Item, ...Item[]] | undefined;
  let used = 0;
  for (const item of items) {
    const own = sizeOf(item);
    used += own;
    if (batch !== undefined && batch.length < count && used <= size) {
      batch.push(item);
      continue;
    }
    if (batch !== undefined) yield batch;
    batch = [item];
    used = own;
  }
  if (batch !== undefined) yield batch;
}
