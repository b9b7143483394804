import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type CategoryChange, changeKey } from './categories/categories';
import { type DirectoryEvent } from './events';

/** When something changed last: its position in the log, and its time (epoch ms). */
export interface Changed {
  readonly position: Position;
  readonly at: number;
}

/**
 * When each part of the reference data changed last. There is one entry for each entity, and one for each id or name
 * that products can be mapped by, however often they change.
 */
export class LastChanges {
  /** Of the category tree. */
  ofTree: Changed | undefined;
  private readonly streams = new Map<string, Changed>();
  private readonly categories = new Map<string, Changed>();
  /** By what products can be mapped: `changeKey`, of one feed or of all. */
  private readonly mappings = new Map<string, Changed>();

  note(
    { stream, position }: RecordedEvent,
    { type, data }: DirectoryEvent,
    remapped: readonly CategoryChange[],
  ): void {
    const changed = { position, at: Date.parse(data.at) };
    this.streams.set(stream, changed);
    if (type === 'CategoryDefined' || type === 'CategoryRemoved') {
      this.ofTree = changed;
      this.categories.set(data.id, changed);
    }
    for (const change of remapped) {
      const feedId = change.posted === 'name' ? change.feedId : undefined;
      this.mappings.set(keyOf(changeKey(change), feedId), changed);
    }
  }

  /** The last event of an entity's stream. */
  of(stream: string): Changed | undefined {
    return this.streams.get(stream);
  }

  /** The last change of what products of a feed are mapped by (`mappingKeys`), whatever it made of them. */
  ofMapping(feedId: number, keys: readonly string[]): Changed | undefined {
    let last: Changed | undefined;
    for (const key of keys) {
      const changed = this.mappings.get(keyOf(key, key.startsWith('name:') ? feedId : undefined));
      if (changed !== undefined && changed.position > (last?.position ?? START)) last = changed;
    }
    return last;
  }

  /** Ids of the categories that were defined or removed after a position, with the last change of each. */
  ofCategoriesAfter(position: Position): ReadonlyMap<string, Changed> {
    if (this.ofTree === undefined || this.ofTree.position <= position) return new Map();
    return new Map([...this.categories].filter(([, changed]) => changed.position > position));
  }
}

/** What a name means is a matter of the feed. */
function keyOf(key: string, feedId?: number): string {
  return feedId === undefined ? key : `${feedId} ${key}`;
}
