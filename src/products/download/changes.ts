import { type Directory } from '../../directory/directory';
import { NO_STREAM, type Position, type RecordedEvent, streamOf, timeOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { lastEventWhere } from '../../kernel/last-event';
import { FEED, type FeedEvent } from '../feed';
import { closingsUpTo, isClosing } from '../feed-closings';
import { type Remapping, remappedIn } from '../remapped';
import { hasSeen, type Seeable, type Since } from './since';

/** What has happened to a feed since a copy of it was made. */
export interface Changes {
  /** The events of the feed's stream, from the first revision to the last; none if the first is beyond it. */
  readonly events: { readonly first: number; readonly last: number };
  /** Undefined when so many categories have changed that it is not worth while to tell what that concerns. */
  readonly remapping: Remapping | undefined;
}

/** Changed categories that it is told of what they concern (`docs/decisions.md#x51`). */
const MOST_CATEGORIES = 1000;

/** What has changed in a feed, from the log: as far as the read models surely show it, at least. */
export async function changesSince(
  log: EventLog,
  directory: Directory,
  feedId: number,
  since: Since,
  upTo: Position,
): Promise<Changes> {
  const feed = streamOf(FEED, feedId);
  const span = { isSeen: (change: Seeable) => hasSeen(since, change), upTo };
  const [seen, shown, remapped] = await Promise.all([
    lastSeen(log, feed, since),
    lastEventWhere(log, feed, ({ position }) => position <= upTo),
    remappedIn(log, directory, feedId, span, MOST_CATEGORIES),
  ]);
  return {
    events: { first: (seen?.revision ?? NO_STREAM) + 1, last: shown?.revision ?? NO_STREAM },
    remapping: remapped && {
      changes: remapped.flatMap(({ changes }) => changes),
      categoryIds: remapped.flatMap(({ categoryIds }) => categoryIds),
    },
  };
}

/** The last event that a copy has surely seen, and with it all before. */
async function lastSeen(log: EventLog, feed: string, since: Since): Promise<RecordedEvent | undefined> {
  const last = await lastEventWhere(log, feed, isSeen(since));
  if (last === undefined || 'position' in since) return last;
  // Products bear the time when their load began, however long it took to store them: that of its end is to be trusted.
  for await (const closing of closingsUpTo(log, last)) if (isSeen(since)(closing)) return closing;
  return undefined;
}

/**
 * Whether what is joined to a feed's products may have changed since a date: the feed itself, its programs, the
 * caller's organisation, sites that are or were its own.
 */
export async function factsChanged(
  log: EventLog,
  directory: Directory,
  { feedId, organisationId }: { readonly feedId: number; readonly organisationId: number },
  since: Since,
): Promise<boolean> {
  const programs = directory.feed(feedId)?.programIds ?? [];
  const streams = [
    streamOf('feedinfo', feedId),
    streamOf('organisation', organisationId),
    ...programs.map((id) => streamOf('program', id)),
    ...[...directory.programs.sitesEverOf(organisationId)].map((id) => streamOf('site', id)),
  ];
  for (const stream of streams)
    for await (const events of log.readStream(stream, { backwards: true, limit: 1 }))
      if (!events.every(isSeen(since))) return true;
  return false;
}

function isSeen(since: Since): (event: RecordedEvent) => boolean {
  return (event) => hasSeen(since, { position: event.position, at: 'date' in since ? timeOf(event) : '' });
}

/** The products that these events are about; `gone` those that they have delisted in the end. */
export async function touchedProducts(
  log: EventLog,
  feedId: number,
  { first, last }: Changes['events'],
): Promise<{ readonly touched: ReadonlySet<string>; readonly gone: ReadonlySet<string> }> {
  const touched = new Set<string>();
  const gone = new Set<string>();
  if (first > last) return { touched, gone };
  const options = { from: first, limit: last - first + 1 };
  for await (const events of log.readStream(streamOf(FEED, feedId), options))
    for (const event of events) {
      if (isClosing(event)) continue;
      const { sourceProductId } = JSON.parse(event.data) as { sourceProductId: string };
      touched.add(sourceProductId);
      if (event.type === ('ProductDelisted' satisfies FeedEvent['type'])) gone.add(sourceProductId);
      else gone.delete(sourceProductId);
    }
  return { touched, gone };
}
