/**
 * Works on many items, `atOnce` of them at a time. After a failure no further item is started, and the
 * failure is raised as soon as the items under way have ended.
 */
export async function inParallel<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // All workers share one generator: a loop that ends with an error closes it for the others.
  const queue = (function* () {
    yield* items;
  })();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
