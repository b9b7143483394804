import { type Directory } from '../directory';
import { type PostedCategory } from './mapped-category';

/** A combination of posted categories, what each is mapped to (or null), and the number of products that have it. */
export interface CategorySet {
  readonly categories: readonly PostedCategory[];
  readonly mapped: readonly (string | null)[];
  readonly products: number;
}

/** A posted category and the number of products that have it. */
interface PostedCount {
  /** The advertiser's name; if there is none, the platform name or id it was posted with (`docs/decisions.md#x28`). */
  readonly name: string;
  /** The platform category that it is mapped to. */
  readonly tdCategoryId?: string;
  readonly products: number;
}

export interface FeedCounts {
  readonly products: number;
  /** By name; a name mapped to several categories has one entry for each. */
  readonly posted: readonly PostedCount[];
  /** Mapped products in each platform category including its descendants, counted once (`docs/decisions.md#p20`). */
  readonly within: ReadonlyMap<string, number>;
}

/** Adds up category sets. */
export class CategoryTally {
  private products = 0;
  private readonly posted = new Map<
    string,
    { name: string; tdCategoryId: string | null; products: number }
  >();
  private readonly within = new Map<string, number>();

  constructor(private readonly directory: Directory) {}

  add({ categories, mapped, products }: CategorySet): void {
    this.products += products;
    const rows = new Set(categories.map((category, at) => this.rowOf(category, mapped[at] ?? null)));
    for (const row of rows) row.products += products;
    for (const id of this.withAncestors(mapped)) this.within.set(id, (this.within.get(id) ?? 0) + products);
  }

  counts(): FeedCounts {
    const posted = [...this.posted.values()]
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      .map(({ tdCategoryId, ...row }) => ({ ...row, ...(tdCategoryId === null ? {} : { tdCategoryId }) }));
    return { products: this.products, posted, within: this.within };
  }

  private rowOf({ id, name, tdCategoryName }: PostedCategory, tdCategoryId: string | null) {
    const label = name ?? tdCategoryName ?? id ?? '';
    const key = `${tdCategoryId ?? ''}/${label}`;
    const row = this.posted.get(key) ?? { name: label, tdCategoryId, products: 0 };
    this.posted.set(key, row);
    return row;
  }

  private withAncestors(mapped: CategorySet['mapped']): ReadonlySet<string> {
    const found = new Set<string>();
    for (let id of mapped) {
      while (id !== null && !found.has(id)) {
        const category = this.directory.category(id);
        if (category === undefined) break;
        found.add(id);
        id = category.parentId;
      }
    }
    return found;
  }
}
