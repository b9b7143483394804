import { defined } from '../../kernel/without';

/** A posted field that the document does not name: in how many products it was, and an example of these. */
export interface IgnoredField {
  /** Its path in a product, list indexes left out: `colour`, `categories.colour`; an attribute is `@colour`. */
  readonly field: string;
  readonly products: number;
  /** Absent if the example has no usable id. */
  readonly sourceProductId?: string;
}

/** Different fields that are counted, and characters of a path. */
const MOST = { fields: 100, characters: 100 } as const;

type OfProducts = Omit<IgnoredField, 'sourceProductId'> & { readonly sourceProductId?: string | undefined };

interface Counted {
  products: number;
  readonly example: string | undefined;
  /** The last product counted, by its place in the body. */
  last: number;
}

/** Counts the unknown fields of posted products (`docs/decisions.md#a15`): the first 100 different ones. */
export class IgnoredFields {
  private readonly fields = new Map<string, Counted>();

  /** Counts a field of the product at a place of the body, once for each product. */
  add(path: string, sequence: number, sourceProductId: string | undefined): void {
    const field = beginningOf(path);
    const known = this.fields.get(field);
    if (known?.last === sequence) return;
    this.count({ field, products: 1, sourceProductId }, sequence);
  }

  addAll(others: readonly IgnoredField[]): void {
    for (const other of others) this.count(other, 0);
  }

  /** By name. */
  listed(): readonly IgnoredField[] {
    return [...this.fields]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, { products, example }]) => defined({ field, products, sourceProductId: example }));
  }

  private count({ field, products, sourceProductId }: OfProducts, last: number): void {
    const known = this.fields.get(field);
    if (known !== undefined) {
      known.products += products;
      known.last = last;
    } else if (this.fields.size < MOST.fields) {
      this.fields.set(field, { products, example: sourceProductId, last });
    }
  }
}

/** Cut between characters: the log stores no half of a surrogate pair. */
function beginningOf(path: string): string {
  return path.length <= MOST.characters
    ? path
    : path.slice(0, MOST.characters).replace(/[\ud800-\udbff]$/, '');
}
