import { type RecordedEvent } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';
import { type FeedClosing } from './feed';

const CLOSES: Readonly<Record<FeedClosing['type'], true>> = { FeedImported: true, ProductsDeleted: true };

/** Whether an event of a feed's stream ends a load or a deletion; all others are about a product. */
export function isClosing({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return type in CLOSES;
}

/** When an event happened, as it says itself: ISO 8601. */
export function timeOf({ data }: Pick<RecordedEvent, 'data'>): string {
  return (JSON.parse(data) as { readonly at: string }).at;
}

/**
 * The last load or deletion that had ended by an event of a feed's stream: the event that closes it, or undefined.
 *
 * Few events are read, however many a load under way has appended: all that are of one bear the time when it began
 * (`docs/decisions.md#x6`), so that what was before them is found by halving.
 */
export async function lastClosing(log: EventLog, event: RecordedEvent): Promise<RecordedEvent | undefined> {
  let found: RecordedEvent | undefined = event;
  while (found !== undefined && !isClosing(found)) {
    const began = timeOf(found);
    const before = await lastEventWhere(
      log,
      event.stream,
      (one) => one.revision < event.revision && timeOf(one) < began,
    );
    found = (await closedInThatMoment(log, event.stream, before)) ?? before;
  }
  return found;
}

/** The event after this one if it closes: it may bear the very time at which the next load began. */
async function closedInThatMoment(
  log: EventLog,
  stream: string,
  before: RecordedEvent | undefined,
): Promise<RecordedEvent | undefined> {
  if (before === undefined) return undefined;
  for await (const [next] of log.readStream(stream, { from: before.revision + 1, limit: 1 }))
    return next !== undefined && isClosing(next) ? next : undefined;
  return undefined;
}
