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
    const byKeys = this.ordering(wanted);
    const compare = this.thenById(byKeys);
    if (wanted.isGrouped !== true) {
      const page = firstOf(matches, offset + size, compare).slice(offset);
      return {
        total: matches.length,
        page: page.map((product) => [product]),
        ...(wanted.hasFacets === true ? { counts: this.counts(matches) } : {}),
      };
    }
    const { eans, prices } = this.catalogue;
    const byPrice = this.thenById((a, b) => (prices[a] ?? 0) - (prices[b] ?? 0));
    const best = this.firstOfGroups(matches, compare);
    const cheapest = this.firstOfGroups(matches, byPrice);
    const keyOf = (product: number): number => groupOf(product, eans);
    // By the best key of any member; ties by the id of the cheapest.
    const stands = (product: number): number => cheapest.get(keyOf(product)) ?? product;
    const byGroup = this.thenById(byKeys, stands);
    const groups = Uint32Array.from(best.values());
    const page = firstOf(groups, offset + size, byGroup).slice(offset);
    const members = page.map((one) =>
      Array.from(matches.filter((other) => keyOf(other) === keyOf(one))).sort(byPrice),
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

  /** By price, or by the words of the search in the title and then the newest first. */
  private ordering({ words = [], isByPrice }: CatalogueSearch): Compare {
    const { prices, modified } = this.catalogue;
    const distinct = [...new Set(words.flat())];
    const relevance = (product: number): number => {
      let count = 0;
      for (const word of distinct) if (this.has(product, word, WORDS.title)) count += 1;
      return count;
    };
    return isByPrice === true
      ? (a, b) => (prices[a] ?? 0) - (prices[b] ?? 0)
      : (a, b) => relevance(b) - relevance(a) || (modified[b] ?? 0) - (modified[a] ?? 0);
  }

  /** Ties by the ids of the products, or of those that stand for them. */
  private thenById(compare: Compare, of: (product: number) => number = (product) => product): Compare {
    const idOf = (product: number): string => this.catalogue.idOf(of(product));
    return (a, b) => {
      const compared = compare(a, b);
      if (compared !== 0) return compared;
      const [one, other] = [idOf(a), idOf(b)];
      return one < other ? -1 : one > other ? 1 : 0;
    };
  }

  /** The first product of each group. */
  private firstOfGroups(matches: Uint32Array, compare: Compare): ReadonlyMap<number, number> {
    const found = new Map<number, number>();
    for (const product of matches) {
      const key = groupOf(product, this.catalogue.eans);
      const before = found.get(key);
      if (before === undefined || compare(product, before) < 0) found.set(key, product);
    }
    return found;
  }
}

type Compare = (a: number, b: number) => number;

/** Its EAN; a number of its own if it has none. */
function groupOf(product: number, eans: Catalogue['eans']): number {
  const ean = eans[product] ?? 0;
  return ean === 0 ? -1 - product : ean;
}

/** The first `most` of some products, in order. */
function firstOf(all: Uint32Array, most: number, compare: Compare): readonly number[] {
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
