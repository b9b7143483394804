import { type CategoryDefinition, type CategoryEvent, type MappingEvent } from './events';
import { Multimap } from './multimap';

/**
 * What products can be mapped by anew: those posted with this platform category id, those posted with this
 * platform category name, or those of this feed posted with this advertiser category name.
 */
export type CategoryChange =
  | { readonly posted: 'id' | 'tdCategoryName'; readonly value: string }
  | { readonly posted: 'name'; readonly feedId: number; readonly value: string };

/** A change as a key: `id:…`, `tdCategoryName:…` or `name:…`, whichever the feed. */
export function changeKey({ posted, value }: Pick<CategoryChange, 'posted' | 'value'>): string {
  return `${posted}:${value}`;
}

/** The category tree and what feeds map to it, folded from events that may come in any order between streams. */
export class Categories {
  /** How many categories have been removed so far: what was taken because of one may not be taken any more. */
  removals = 0;
  private readonly definitions = new Map<string, CategoryDefinition>();
  private readonly children = new Multimap<string | null, string>();
  private readonly bearers = new Multimap<string, string>();
  private readonly mappings = new Map<number, Map<string, string>>();
  /** The feeds that map a name to a category. */
  private readonly mappedTo = new Multimap<string, number>();

  all(): Iterable<CategoryDefinition> {
    return this.definitions.values();
  }

  get(id: string): CategoryDefinition | undefined {
    return this.definitions.get(id);
  }

  /** Those that bear this name, in any language. */
  named(name: string): readonly CategoryDefinition[] {
    return [...this.bearers.of(name)].flatMap((id) => this.definitions.get(id) ?? []);
  }

  /** The ids of a category and all below it; none if there is no such category. */
  descendantsOf(id: string): readonly string[] {
    if (!this.definitions.has(id)) return [];
    const found = new Set([id]);
    for (const parent of found) for (const child of this.children.of(parent)) found.add(child);
    return [...found];
  }

  /** Those directly below one (null: without one above them), in the order of their ids. */
  childrenOf(parentId: string | null): readonly CategoryDefinition[] {
    const found = [...this.children.of(parentId)].flatMap((id) => this.definitions.get(id) ?? []);
    return found.sort((a, b) => Number(a.id) - Number(b.id));
  }

  /** What a feed maps: advertiser category name -> platform category id (that may be gone). */
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
    for (const name of lost) this.bearers.delete(name, id);
    for (const name of gained) this.bearers.add(name, id);
    if (before !== undefined) this.children.delete(before.parentId, id);
    if (after !== undefined) this.children.add(after.parentId, id);
    if (before !== undefined && after === undefined) this.removals += 1;
    if (after === undefined) this.definitions.delete(id);
    else this.definitions.set(id, after);
    return [
      ...((before === undefined) === (after === undefined) ? [] : this.bornOrGone(id)),
      ...[...lost, ...gained].map((value) => ({ posted: 'tdCategoryName', value }) as const),
    ];
  }

  private bornOrGone(id: string): readonly CategoryChange[] {
    const names = [...this.mappedTo.of(id)].flatMap((feedId) =>
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
    // A feed that no longer maps to the old category is only looked into in vain.
    if (categoryId !== undefined) this.mappedTo.add(categoryId, feedId);
    return [{ posted: 'name', feedId, value: name }];
  }
}

function namesOf(category: CategoryDefinition | undefined): ReadonlySet<string> {
  return new Set(Object.values(category?.names ?? {}));
}
