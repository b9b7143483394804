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
  let hasEnded = false;
  const queue = (function* () {
    try {
      yield* items;
    } finally {
      hasEnded = true;
    }
  })();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  const workers: Promise<void>[] = [];
  // Most lists are short: they need few workers.
  const isEnough = (): boolean => hasEnded || workers.length === atOnce;
  while (!isEnough()) workers.push(worker());
  const ended = await Promise.allSettled(workers);
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
