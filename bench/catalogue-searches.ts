import { type ProductCriteria, searchWindow } from '../projections/product-search';
import { type Random } from '../src/demo/catalogue';
import { BRANDS, type Catalogue, COLOURS, PRICES, VOCABULARY } from './catalogue';
import { CATEGORIES } from './products';

/** Results on a page. */
const PAGE_SIZE = 20;

/** A search in a catalogue, by numbers. */
export interface CatalogueSearch {
  /** Alternatives, each of words that a product must all have. */
  readonly words?: readonly (readonly number[])[];
  readonly category?: number;
  readonly brand?: number;
  readonly colour?: number;
  /** Bounds, inclusive. */
  readonly prices?: readonly [least: number, most: number];
  /** Those with the EAN of this product. */
  readonly eanOf?: number;
  /** This product alone. */
  readonly only?: number;
  readonly isByPrice?: true;
  /** Groups by EAN. */
  readonly isGrouped?: true;
  /** From 1. */
  readonly page?: number;
  /** The beginning of a word, in place of `words`. */
  readonly begin?: string;
  /** What is typed for `words`, which it differs from in one letter. */
  readonly typed?: string;
  /** Counts by brand, category and price. */
  readonly hasFacets?: true;
}

/** Bounds of the facet of prices, in cents. */
export const PRICE_BOUNDS = [25_000, 50_000, 75_000] as const;

/**
 * Kinds of search. By rank, the first words are in nearly all products, the third in 85 of 100, the hundredth in 6, the
 * fifteen-thousandth in 1 of 2,400.
 */
export const KINDS: Readonly<Record<string, (random: Random, catalogue: Catalogue) => CatalogueSearch>> = {
  'all, newest': () => ({}),
  'all, by price': () => ({ isByPrice: true }),
  'all, page 40': () => ({ page: 40 }),
  'common word': (random) => ({ words: [[random.between(1, 3)]] }),
  'usual word': (random) => ({ words: [[usual(random)]] }),
  'usual word, by price': (random) => ({ words: [[usual(random)]], isByPrice: true }),
  'usual word, page 40': (random) => ({ words: [[usual(random)]], page: 40 }),
  'two words': (random) => ({ words: [[random.between(10, 20), random.between(21, 40)]] }),
  'either of two': (random) => ({ words: [[random.between(20, 60)], [random.between(61, 200)]] }),
  'custom field': (random) => ({ colour: random.between(0, COLOURS.length - 1) }),
  'prices, by price': (random) => {
    const least = random.between(PRICES.least, HALF);
    return { prices: [least, least + HALF], isByPrice: true };
  },
  'word, category, prices': (random) => {
    const least = random.between(PRICES.least, HALF);
    const category = random.between(0, CATEGORIES.length - 1);
    return { words: [[random.between(10, 40)]], category, prices: [least, least + HALF] };
  },
  'all, grouped, newest': () => ({ isGrouped: true }),
  'usual word, grouped': (random) => ({ words: [[usual(random)]], isByPrice: true, isGrouped: true }),
  'common word, grouped': (random) => ({
    words: [[random.between(1, 3)]],
    isByPrice: true,
    isGrouped: true,
  }),
  'common word, facets': (random) => ({ words: [[random.between(1, 3)]], isByPrice: true, hasFacets: true }),
  'all, facets': () => ({ isByPrice: true, hasFacets: true }),
  'beginning of a word': (random) => ({
    begin: (VOCABULARY[usual(random)] ?? '').slice(0, 3),
    isByPrice: true,
  }),
  'one wrong letter': (random) => misspelt(random),
  'rare word': (random) => ({ words: [[random.between(12_000, 19_000)]] }),
  brand: (random) => ({ brand: random.between(50, 1_000) }),
  'one id': (random, { size }) => ({ only: random.between(0, size - 1) }),
  'an ean': (random, { size, eans }) => {
    let eanOf = random.between(0, size - 1);
    while (eans[eanOf] === 0) eanOf = (eanOf + 1) % size;
    return { eanOf };
  },
};

const HALF = 50_000;

function usual(random: Random): number {
  return random.between(80, 200);
}

/** A word with a letter too many, which makes it no other word. */
function misspelt(random: Random): CatalogueSearch {
  for (;;) {
    const typed = `${VOCABULARY[usual(random)] ?? ''}x`;
    const near = [...VOCABULARY.keys()].filter((word) => isWithout(typed, VOCABULARY[word] ?? ''));
    const isAlone = !VOCABULARY.some((word) => word.length >= typed.length && startsAlike(word, typed));
    if (typed.length >= 5 && near.length === 1 && isAlone) return { words: [near], typed, isByPrice: true };
  }
}

/** Whether one letter removed from a text makes a word of it. */
function isWithout(text: string, word: string): boolean {
  if (word.length !== text.length - 1) return false;
  let at = 0;
  while (at < word.length && word[at] === text[at]) at += 1;
  return text.slice(at + 1) === word.slice(at);
}

/** Words of similar length may differ in one letter only if half of both is the same. */
function startsAlike(word: string, typed: string): boolean {
  const half = Math.floor(typed.length / 2) - 1;
  return (
    word.length <= typed.length + 1 &&
    (word.startsWith(typed.slice(0, half)) || word.endsWith(typed.slice(-half)))
  );
}

/** The results of a page: those before it, and its size. */
export function pageOf({ page = 1 }: CatalogueSearch): { readonly offset: number; readonly size: number } {
  return { offset: (page - 1) * PAGE_SIZE, size: PAGE_SIZE };
}

/** What the read model and the API call alike. */
function commonKeys(wanted: CatalogueSearch, catalogue: Catalogue) {
  const { category, brand, colour, prices, eanOf, only, isByPrice } = wanted;
  const typed = wanted.typed ?? wanted.begin;
  const q = typed === undefined ? wordsOf(wanted) : [typed];
  return {
    ...(q.length === 0 ? {} : { q }),
    ...(category === undefined ? {} : { category: [CATEGORIES[category]?.name ?? ''] }),
    ...(brand === undefined ? {} : { brand: [BRANDS[brand] ?? ''] }),
    ...(colour === undefined ? {} : { field: [`colour=${COLOURS[colour] ?? ''}`] }),
    ...(prices === undefined ? {} : { minPrice: prices[0], maxPrice: prices[1] }),
    ...(eanOf === undefined ? {} : { ean: [catalogue.eanOf(eanOf)] }),
    ...(only === undefined ? {} : { spId: [catalogue.nameOf(only)] }),
    ...(wanted.begin === undefined ? {} : { prefix: true }),
    ...(isByPrice === undefined ? {} : { orderBy: 'priceAsc' as const }),
  };
}

/** The criteria of the read model, without feeds. */
export function criteriaOf(wanted: CatalogueSearch, catalogue: Catalogue): Omit<ProductCriteria, 'feedIds'> {
  const window = searchWindow(wanted.page, PAGE_SIZE);
  return { ...commonKeys(wanted, catalogue), visibleOnly: true, window };
}

/** The same search as matrix keys, without `fid`. */
export function keysOf(wanted: CatalogueSearch, catalogue: Catalogue): string {
  const keys = Object.entries(commonKeys(wanted, catalogue)).map(([key, value]) => {
    const values = [value].flat().map((one) => (key.endsWith('Price') ? euros(Number(one)) : String(one)));
    return `${key}=${values.map((one) => encodeURIComponent(one)).join(',')}`;
  });
  if (wanted.typed !== undefined) keys.push('fuzzy=true');
  if (wanted.hasFacets === true)
    keys.push(`facets=brand,category,priceRange(${PRICE_BOUNDS.map((bound) => bound / 100).join(',')})`);
  if (wanted.isGrouped === true) keys.push('groupOffersByProduct=true');
  return [...keys, `page=${wanted.page ?? 1}`, `pageSize=${PAGE_SIZE}`].join(';');
}

function wordsOf({ words = [] }: CatalogueSearch): readonly string[] {
  return words.map((together) => together.map((word) => VOCABULARY[word]).join(' '));
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}
