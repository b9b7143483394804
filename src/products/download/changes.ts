import { type CategoryChange } from '../../directory/categories';
import { type Directory } from '../../directory/directory';
import { type CategoryDefinition, type MappingEvent } from '../../directory/events';
import { NO_STREAM, type Position, type RecordedEvent, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { lastEventWhere } from '../../kernel/last-event';
import { FEED, type FeedEvent } from '../feed';
import { type Remapping } from './feed-source';
import { hasSeen, type Since } from './since';

/** What has happened to a feed since a copy of it was made. */
export interface Changes {
  /** The events of the feed's stream, from the first revision to the last; none if the first is beyond it. */
  readonly events: { readonly first: number; readonly last: number };
  /** Undefined when so many categories have changed that it is not worth while to tell what that concerns. */
  readonly remapping: Remapping | undefined;
}

/** Categories changed beyond which a copy is better made anew. */
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
  const [seen, shown] = await Promise.all([
    lastEventWhere(log, feed, isSeen(since)),
    lastEventWhere(log, feed, ({ position }) => position <= upTo),
  ]);
  const events = { first: (seen?.revision ?? NO_STREAM) + 1, last: shown?.revision ?? NO_STREAM };
  const categoryIds = [...directory.categoryChanges]
    .filter(([, change]) => !hasSeen(since, change))
    .map(([id]) => id);
  if (categoryIds.length > MOST_CATEGORIES) return { events, remapping: undefined };
  const changes = [
    ...(await mappedNames(log, feedId, since)),
    ...(await Promise.all(categoryIds.map((id) => nearTo(log, directory, feedId, id)))).flat(),
  ];
  return { events, remapping: { changes, categoryIds } };
}

/** The advertiser's names of categories that were mapped or unmapped. */
async function mappedNames(log: EventLog, feedId: number, since: Since): Promise<CategoryChange[]> {
  const stream = streamOf('mapping', feedId);
  const seen = await lastEventWhere(log, stream, isSeen(since));
  const names = new Set<string>();
  for await (const events of log.readStream(stream, { from: (seen?.revision ?? NO_STREAM) + 1 }))
    for (const { data } of events) names.add((JSON.parse(data) as MappingEvent['data']).name);
  return [...names].map((value) => ({ posted: 'name', feedId, value }));
}

/** By what products can be mapped to a category: its id, every name it has ever had, the names a feed maps to it. */
async function nearTo(
  log: EventLog,
  directory: Directory,
  feedId: number,
  id: string,
): Promise<CategoryChange[]> {
  const names = new Set<string>();
  for await (const events of log.readStream(streamOf('category', id)))
    for (const { data } of events) {
      const definition = JSON.parse(data) as Partial<CategoryDefinition>;
      for (const name of Object.values(definition.names ?? {})) names.add(name);
    }
  const mapped = [...directory.categories.mappingsOf(feedId)].filter(([, categoryId]) => categoryId === id);
  return [
    { posted: 'id', value: id },
    ...[...names].map((value) => ({ posted: 'tdCategoryName', value }) as const),
    ...mapped.map(([value]) => ({ posted: 'name', feedId, value }) as const),
  ];
}

/**
 * Whether what is joined to a feed's products may have changed since a date: the feed itself, its programs, the
 * caller's sites.
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
    ...programs.map((id) => streamOf('program', id)),
    ...directory.programs.sitesOf(organisationId).map((id) => streamOf('site', id)),
  ];
  for (const stream of streams)
    for await (const events of log.readStream(stream, { backwards: true, limit: 1 }))
      if (!events.every(isSeen(since))) return true;
  return false;
}

function isSeen(since: Since): (event: RecordedEvent) => boolean {
  return ({ position, data }) =>
    hasSeen(since, { position, at: 'date' in since ? (JSON.parse(data) as { at: string }).at : '' });
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
    for (const { type, data } of events) {
      if (type === ('FeedImported' satisfies FeedEvent['type'])) continue;
      const { sourceProductId } = JSON.parse(data) as { sourceProductId: string };
      touched.add(sourceProductId);
      if (type === ('ProductDelisted' satisfies FeedEvent['type'])) gone.add(sourceProductId);
      else gone.delete(sourceProductId);
    }
  return { touched, gone };
}
