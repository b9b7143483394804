import { type EventBatch } from '../../kernel/event-log';
import { type History, type Selection } from './history';
import { type Head } from './head';
import { type RetryBudget } from './retry-budget';
import { type Tail } from './tail';

/** Minimum interval (ms) between empty batches that report only growth of the log by other streams. */
const ADVANCE_MS = 100;

/**
 * The rest of the history, then new events, until the feed overflows: the follower must then resume from the history. Raises
 * the error that interrupts it.
 */
export async function* follow(
  { head, tail }: { readonly head: Head; readonly tail: Tail },
  history: History,
  { prefixes, batchSize }: Selection,
  signal: AbortSignal,
  budget: RetryBudget,
): AsyncGenerator<EventBatch> {
  const end = await head.read();
  const feed = tail.join(end, prefixes);
  const isCaughtUp = (): boolean => feed.isDrained && feed.position >= end.head;
  let last: EventBatch | undefined;
  let advancedAt = -Infinity;
  try {
    const isAll = (): boolean => isCaughtUp() && feed.position === feed.from;
    for await (const batch of history.upTo(feed.from, signal, isAll)) yield (last = batch);
    while (!feed.hasOverflowed && !signal.aborted) {
      const events = feed.take(batchSize).filter(({ position }) => position > history.position);
      if (feed.isDrained) history.delivered(feed.position);
      else history.delivered(events.at(-1)?.position ?? history.position);
      const batch = { events, position: history.position, caughtUp: isCaughtUp() };
      const isNewPosition = batch.caughtUp && !(last?.caughtUp === true && last.position === batch.position);
      const wait = last?.caughtUp === true ? advancedAt + ADVANCE_MS - performance.now() : 0;
      if (events.length === 0 && (!isNewPosition || wait > 0)) {
        if (feed.isDrained) await feed.waitForMore(signal, isNewPosition ? wait : undefined);
        continue;
      }
      advancedAt = performance.now();
      yield (last = batch);
    }
  } finally {
    if (feed.hasReceived) budget.reset();
    feed.close();
  }
}
