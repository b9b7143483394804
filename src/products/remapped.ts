import { type CategoryChange } from '../directory/categories';
import { type Directory } from '../directory/directory';
import { type CategoryDefinition, type MappingEvent } from '../directory/events';
import { NO_STREAM, type Position, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';
import { timeOf } from './feed-closings';

/** What categories made of the products that were posted with them. */
export interface Remapping {
  readonly changes: readonly CategoryChange[];
  /** Platform categories that have changed. */
  readonly categoryIds: readonly string[];
}

/** A change of categories, or of what a feed maps to them, and what may concern the feed's products in it. */
export interface Remapped extends Remapping {
  readonly position: Position;
  readonly at: string;
}

/** The category of the stream of a feed's category mappings. */
export const MAPPING = 'mapping';

/** Where something happened that may have been seen: it and all that was before it, or nothing after it. */
type IsSeen = (event: { readonly position: Position; readonly at: string }) => boolean;

/** What has not been seen, oldest first; undefined when more categories have changed than are worth looking at. */
export async function remappedSince(
  log: EventLog,
  directory: Pick<Directory, 'categories' | 'categoryChanges'>,
  feedId: number,
  isSeen: IsSeen,
  mostCategories: number,
): Promise<readonly Remapped[] | undefined> {
  const categories = [...directory.categoryChanges].filter(([, change]) => !isSeen(change));
  if (categories.length > mostCategories) return undefined;
  const renamed = categories.map(async ([id, { position, at }]) => ({
    position,
    at,
    changes: await nearTo(log, directory, feedId, id),
    categoryIds: [id],
  }));
  const all = [...(await mappedNames(log, feedId, isSeen)), ...(await Promise.all(renamed))];
  return all.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** The advertiser's names of categories that were mapped or unmapped. */
async function mappedNames(log: EventLog, feedId: number, isSeen: IsSeen): Promise<Remapped[]> {
  const stream = streamOf(MAPPING, feedId);
  const seen = await lastEventWhere(log, stream, (event) =>
    isSeen({ position: event.position, at: timeOf(event) }),
  );
  const found: Remapped[] = [];
  for await (const events of log.readStream(stream, { from: (seen?.revision ?? NO_STREAM) + 1 }))
    for (const { position, data } of events) {
      const { at, name: value } = JSON.parse(data) as MappingEvent['data'];
      found.push({ position, at, changes: [{ posted: 'name', feedId, value }], categoryIds: [] });
    }
  return found;
}

/** By what products can be mapped to a category: its id, every name it has ever had, the names a feed maps to it. */
async function nearTo(
  log: EventLog,
  { categories }: Pick<Directory, 'categories'>,
  feedId: number,
  id: string,
): Promise<CategoryChange[]> {
  const names = new Set<string>();
  for await (const events of log.readStream(streamOf('category', id)))
    for (const { data } of events) {
      const definition = JSON.parse(data) as Partial<CategoryDefinition>;
      for (const name of Object.values(definition.names ?? {})) names.add(name);
    }
  const mapped = [...categories.mappingsOf(feedId)].filter(([, categoryId]) => categoryId === id);
  return [
    { posted: 'id', value: id },
    ...[...names].map((value) => ({ posted: 'tdCategoryName', value }) as const),
    ...mapped.map(([value]) => ({ posted: 'name', feedId, value }) as const),
  ];
}
