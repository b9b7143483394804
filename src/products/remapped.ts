import { type CategoryChange } from '../directory/categories';
import { type Directory } from '../directory/directory';
import { type CategoryDefinition, type MappingEvent } from '../directory/events';
import { NO_STREAM, type Position, streamOf, timeOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';

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

/** What is looked at: all up to a position but what has been seen, together with all before it. */
export interface Span {
  readonly isSeen: (event: Pick<Remapped, 'position' | 'at'>) => boolean;
  readonly upTo: Position;
}

/** What has happened in a span, oldest first; undefined when more categories have changed than are worth looking at. */
export async function remappedIn(
  log: EventLog,
  directory: Pick<Directory, 'categories' | 'categoryChanges'>,
  feedId: number,
  span: Span,
  mostCategories: number,
): Promise<readonly Remapped[] | undefined> {
  const renamed = directory.categoryChanges.filter((one) => one.position <= span.upTo && !span.isSeen(one));
  const ids = new Set(renamed.map(({ id }) => id));
  if (ids.size > mostCategories) return undefined;
  const near = new Map<string, readonly CategoryChange[]>();
  for (const id of ids) near.set(id, await nearTo(log, directory, feedId, id));
  const categories = renamed.map(({ id, position, at }): Remapped => ({
    position,
    at,
    changes: near.get(id) ?? [],
    categoryIds: [id],
  }));
  const all = [...(await mappedNames(log, feedId, span)), ...categories];
  return all.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** The advertiser's names of categories that were mapped or unmapped. */
async function mappedNames(log: EventLog, feedId: number, { isSeen, upTo }: Span): Promise<Remapped[]> {
  const stream = streamOf(MAPPING, feedId);
  const seen = await lastEventWhere(log, stream, (event) =>
    isSeen({ position: event.position, at: timeOf(event) }),
  );
  const found: Remapped[] = [];
  for await (const events of log.readStream(stream, { from: (seen?.revision ?? NO_STREAM) + 1 }))
    for (const { position, data } of events) {
      if (position > upTo) return found;
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
