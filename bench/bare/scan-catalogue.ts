import { type Catalogue, VOCABULARY, WORDS } from '../catalogue';
import { type CatalogueSearch, pageOf, PRICE_BOUNDS } from '../catalogue-searches';

/** What a search finds: the number of all products or groups, and the products of each group of the page. */
export interface FoundInCatalogue {
  readonly total: number;
  readonly page: readonly (readonly number[])[];
  /** By brand, category and price, if they are asked for. */
  readonly counts?: readonly (readonly number[])[];
}

/** Searches a catalogue in memory by a plain computation: visits every product, and keeps the first ones. */
export class CatalogueScan {
  private readonly matches: Uint32Array;

  constructor(private readonly catalogue: Catalogue) {
    this.matches = new Uint32Array(catalogue.size);
  }

  run(wanted: CatalogueSearch): FoundInCatalogue {
    const matches = this.matches.subarray(0, this.match(wanted));
    const { offset, size } = pageOf(wanted);
    const compare = this.ordering(wanted);
    if (wanted.isGrouped !== true) {
      const first = firstOf(matches, offset + size, compare);
      return {
        total: matches.length,
        page: first.slice(offset).map((product) => [product]),
        ...(wanted.hasFacets === true ? { counts: this.counts(matches) } : {}),
      };
    }
    const groups = this.bestOfGroups(matches, compare);
    const page = firstOf(groups, offset + size, compare).slice(offset);
    const { eans } = this.catalogue;
    const members = page.map((best) =>
      eans[best] === 0 ? [best] : Array.from(matches.filter((one) => eans[one] === eans[best])).sort(compare),
    );
    return { total: groups.length, page: members };
  }

  private counts(matches: Uint32Array): readonly (readonly number[])[] {
    const { brands, categories, prices } = this.catalogue;
    const ranges = Array.from({ length: PRICE_BOUNDS.length + 1 }, () => 0);
    for (const product of matches) {
      const range = PRICE_BOUNDS.filter((bound) => (prices[product] ?? 0) >= bound).length;
      ranges[range] = (ranges[range] ?? 0) + 1;
    }
    const mostOf = (values: Uint16Array | Uint8Array): readonly number[] => {
      const counts = new Map<number, number>();
      for (const product of matches) {
        const value = values[product] ?? 0;
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      return [...counts.values()].sort((a, b) => b - a).slice(0, 20);
    };
    return [mostOf(brands), mostOf(categories), ranges];
  }

  /** Lists the matching products; returns how many there are. */
  private match(wanted: CatalogueSearch): number {
    const { words, category, brand, colour, prices, eanOf, only, begin } = wanted;
    const beginning = begin === undefined ? undefined : VOCABULARY.map((word) => word.startsWith(begin));
    const { size, categories, brands, colours, prices: all, eans } = this.catalogue;
    const [least, most] = prices ?? [0, Infinity];
    const ean = eanOf === undefined ? undefined : eans[eanOf];
    let count = 0;
    for (let product = 0; product < size; product += 1) {
      if (only !== undefined && product !== only) continue;
      if (category !== undefined && categories[product] !== category) continue;
      if (brand !== undefined && brands[product] !== brand) continue;
      if (colour !== undefined && colours[product] !== colour) continue;
      if (ean !== undefined && eans[product] !== ean) continue;
      const price = all[product] ?? 0;
      if (price < least || price > most) continue;
      if (beginning !== undefined && !this.begins(product, beginning)) continue;
      if (words !== undefined && !this.hasSome(product, words)) continue;
      this.matches[count] = product;
      count += 1;
    }
    return count;
  }

  private begins(product: number, beginning: readonly boolean[]): boolean {
    const { words } = this.catalogue;
    const start = product * WORDS.product;
    for (let at = start; at < start + WORDS.product; at += 1)
      if (beginning[words[at] ?? 0] === true) return true;
    return false;
  }

  private hasSome(product: number, alternatives: readonly (readonly number[])[]): boolean {
    for (const words of alternatives) {
      let isMatch = true;
      for (const word of words) isMatch &&= this.has(product, word, WORDS.product);
      if (isMatch) return true;
    }
    return false;
  }

  /** Whether a word is among the first ones of a product. */
  private has(product: number, word: number, length: number): boolean {
    const { words } = this.catalogue;
    const start = product * WORDS.product;
    for (let at = start; at < start + length; at += 1) if (words[at] === word) return true;
    return false;
  }

  /** By price, or by the words of the search in the title and then the newest first; ties by id. */
  private ordering({ words = [], isByPrice }: CatalogueSearch): (a: number, b: number) => number {
    const { prices, modified } = this.catalogue;
    const distinct = [...new Set(words.flat())];
    const relevance = (product: number): number => {
      let count = 0;
      for (const word of distinct) if (this.has(product, word, WORDS.title)) count += 1;
      return count;
    };
    const byId = (a: number, b: number): number => {
      const [one, other] = [this.catalogue.idOf(a), this.catalogue.idOf(b)];
      return one < other ? -1 : one > other ? 1 : 0;
    };
    return isByPrice === true
      ? (a, b) => (prices[a] ?? 0) - (prices[b] ?? 0) || byId(a, b)
      : (a, b) => relevance(b) - relevance(a) || (modified[b] ?? 0) - (modified[a] ?? 0) || byId(a, b);
  }

  /** The first product of each group. */
  private bestOfGroups(matches: Uint32Array, compare: (a: number, b: number) => number): Uint32Array {
    const { eans } = this.catalogue;
    const best = new Map<number, number>();
    for (const product of matches) {
      const ean = eans[product] ?? 0;
      const key = ean === 0 ? -1 - product : ean;
      const before = best.get(key);
      if (before === undefined || compare(product, before) < 0) best.set(key, product);
    }
    return Uint32Array.from(best.values());
  }
}

/** The first `most` of some products, in order. */
function firstOf(
  all: Uint32Array,
  most: number,
  compare: (a: number, b: number) => number,
): readonly number[] {
  const first: number[] = [];
  for (const product of all) {
    const last = first.at(-1);
    if (first.length === most && last !== undefined && compare(product, last) > 0) continue;
    let low = 0;
    let high = first.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(first[middle] ?? product, product) < 0) low = middle + 1;
      else high = middle;
    }
    first.splice(low, 0, product);
    if (first.length > most) first.pop();
  }
  return first;
}
