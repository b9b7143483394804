import { type CategoryDefinition, type CategoryEvent, type MappingEvent } from '../events';
import { Multimap } from '../collections';

/**
 * Which products may be mapped differently after a change: those posted with this platform category id, those posted
 * with this platform category name, or those of this feed posted with this advertiser category name.
 */
export type CategoryChange =
  | { readonly posted: 'id' | 'tdCategoryName'; readonly value: string }
  | { readonly posted: 'name'; readonly feedId: number; readonly value: string };

/** A change as a key, the same for all feeds: `id:…`, `tdCategoryName:…` or `name:…`. */
export function changeKey({ posted, value }: Pick<CategoryChange, 'posted' | 'value'>): string {
  return `${posted}:${value}`;
}

/** The category tree and the mappings of feeds to it. Events of different streams may be applied in any order. */
export class Categories {
  /** Number of categories removed so far: a result that depended on one may be outdated. */
  removals = 0;
  private readonly definitions = new Map<string, CategoryDefinition>();
  private readonly children = new Multimap<string | null, string>();
  private readonly idsByName = new Multimap<string, string>();
  private readonly mappings = new Map<number, Map<string, string>>();
  /** By category: the feeds that map a name to it, or once did. */
  private readonly feedsByCategory = new Multimap<string, number>();

  all(): Iterable<CategoryDefinition> {
    return this.definitions.values();
  }

  get(id: string): CategoryDefinition | undefined {
    return this.definitions.get(id);
  }

  named(name: string): readonly CategoryDefinition[] {
    return [...this.idsByName.of(name)].flatMap((id) => this.definitions.get(id) ?? []);
  }

  /** Ids of a category and its descendants; empty if the category does not exist. */
  descendantsOf(id: string): readonly string[] {
    if (!this.definitions.has(id)) return [];
    const found = new Set([id]);
    for (const parent of found) for (const child of this.children.of(parent)) found.add(child);
    return [...found];
  }

  /** Children of a category, or the roots for null, ordered by id. */
  childrenOf(parentId: string | null): readonly CategoryDefinition[] {
    const found = [...this.children.of(parentId)].flatMap((id) => this.definitions.get(id) ?? []);
    return found.sort((a, b) => Number(a.id) - Number(b.id));
  }

  /** Mappings of a feed: advertiser category name -> platform category id, which may have been removed. */
  mappingsOf(feedId: number): ReadonlyMap<string, string> {
    return this.mappings.get(feedId) ?? new Map<string, string>();
  }

  feedsWithMappings(): Iterable<number> {
    return this.mappings.keys();
  }

  evolve(event: CategoryEvent | MappingEvent): readonly CategoryChange[] {
    switch (event.type) {
      case 'CategoryDefined':
        return this.set(event.data.id, event.data);
      case 'CategoryRemoved':
        return this.set(event.data.id, undefined);
      case 'CategoryMapped':
        return this.map(event.data.feedId, event.data.name, event.data.categoryId);
      case 'CategoryUnmapped':
        return this.map(event.data.feedId, event.data.name, undefined);
    }
  }

  private set(id: string, after: CategoryDefinition | undefined): readonly CategoryChange[] {
    const before = this.definitions.get(id);
    const [old, names] = [namesOf(before), namesOf(after)];
    const lost = [...old].filter((name) => !names.has(name));
    const gained = [...names].filter((name) => !old.has(name));
    for (const name of lost) this.idsByName.delete(name, id);
    for (const name of gained) this.idsByName.add(name, id);
    if (before !== undefined) this.children.delete(before.parentId, id);
    if (after !== undefined) this.children.add(after.parentId, id);
    if (before !== undefined && after === undefined) this.removals += 1;
    if (after === undefined) this.definitions.delete(id);
    else this.definitions.set(id, after);
    return [
      ...((before === undefined) === (after === undefined) ? [] : this.addedOrRemoved(id)),
      ...[...lost, ...gained].map((value) => ({ posted: 'tdCategoryName', value }) as const),
    ];
  }

  private addedOrRemoved(id: string): readonly CategoryChange[] {
    const names = [...this.feedsByCategory.of(id)].flatMap((feedId) =>
      [...this.mappingsOf(feedId)]
        .filter(([, categoryId]) => categoryId === id)
        .map(([value]) => ({ posted: 'name', feedId, value }) as const),
    );
    return [{ posted: 'id', value: id }, ...names];
  }

  private map(feedId: number, name: string, categoryId: string | undefined): readonly CategoryChange[] {
    const mappings = this.mappings.get(feedId) ?? new Map<string, string>();
    if (mappings.get(name) === categoryId) return [];
    if (categoryId === undefined) mappings.delete(name);
    else mappings.set(name, categoryId);
    if (mappings.size === 0) this.mappings.delete(feedId);
    else this.mappings.set(feedId, mappings);
    // The entry of the old category may stay: it only causes an unnecessary lookup.
    if (categoryId !== undefined) this.feedsByCategory.add(categoryId, feedId);
    return [{ posted: 'name', feedId, value: name }];
  }
}

function namesOf(category: CategoryDefinition | undefined): ReadonlySet<string> {
  return new Set(Object.values(category?.names ?? {}));
}
