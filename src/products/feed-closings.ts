import { type RecordedEvent } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { eventAt } from '../kernel/last-event';
import { type FeedClosing, type ProductMeta } from './feed';

const CLOSES: Readonly<Record<FeedClosing['type'], true>> = { FeedImported: true, ProductsDeleted: true };

/** Whether an event of a feed's stream ends a load or a deletion; all others are about a product. */
export function isClosing({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return type in CLOSES;
}

/**
 * The loads and deletions that had ended by an event of a feed's stream, the last one first: the events that close them.
 *
 * Few events are read, however many a load under way has appended: each tells where its load began.
 */
export async function* closingsUpTo(
  log: EventLog,
  event: RecordedEvent,
): AsyncGenerator<RecordedEvent, undefined> {
  for (let one: RecordedEvent | undefined = event; one !== undefined;) {
    if (isClosing(one)) yield one;
    one = await eventAt(log, event.stream, firstOf(one) - 1);
  }
}

/** From this revision to that of the event nothing was closed; an event that does not tell is looked at alone. */
function firstOf({ meta, revision }: RecordedEvent): number {
  return (JSON.parse(meta) as Partial<ProductMeta>).first ?? revision;
}
