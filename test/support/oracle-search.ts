import { type PostedProduct } from '../../src/demo/products';
import { compareTexts, isOneLetterOff } from './oracle';
import { cutWords, isWordIn, type OracleWord, withoutCase } from './oracle-words';

/** A posted offer; the service assigns its id. */
export interface KnownOffer {
  readonly id: string;
  readonly feedId: number;
  /** Epoch ms. */
  readonly modified: number;
  readonly product: PostedProduct;
  /** The platform categories it is mapped to. */
  readonly categories: readonly string[];
}

/** The network. */
export interface KnownNetwork {
  readonly feeds: readonly { readonly id: number; readonly currency: string; readonly language: string }[];
  readonly categories: readonly {
    readonly id: string;
    readonly parentId: string | null;
    readonly names: Readonly<Record<string, string>>;
  }[];
  readonly mappings: readonly {
    readonly feedId: number;
    readonly name: string;
    readonly categoryId: string;
  }[];
}

/** Keys that compare whole values, and the values of a product. */
export const TEXT_KEYS = {
  category: ({ categories }) => categories.map(({ name }) => name),
  brand: ({ brand }) => [brand],
  availability: ({ availability }) => [availability],
  condition: ({ condition }) => [condition],
  model: ({ model }) => [model],
  manufacturer: ({ manufacturer }) => [manufacturer],
  shippingCost: ({ shippingCost }) => [shippingCost],
  promoText: ({ promoText }) => [promoText],
  warranty: ({ warranty }) => [warranty],
  deliveryTime: ({ deliveryTime }) => [deliveryTime],
  weight: ({ weight }) => [weight],
  size: ({ size }) => [size],
  techSpec: ({ techSpecs }) => [techSpecs],
  field: ({ fields = [] }) => fields.map(({ name, value }) => `${name}=${value}`),
} as const satisfies Readonly<Record<string, (product: PostedProduct) => readonly (string | undefined)[]>>;

type TextKey = keyof typeof TEXT_KEYS;

const CODE_KEYS = ['ean', 'mpn', 'sku', 'upc', 'isbn'] as const;
export type CodeKey = (typeof CODE_KEYS)[number];

/** The parsed keys of a search, by their names in Document 1. */
export interface Asked extends Readonly<Partial<Record<TextKey | CodeKey, readonly string[]>>> {
  readonly fid: readonly number[];
  readonly q?: readonly string[];
  readonly spId?: readonly string[];
  readonly tdId?: readonly string[];
  readonly tdCategoryId?: readonly number[];
  readonly currency?: string;
  readonly language?: string;
  readonly minPrice?: number;
  readonly maxPrice?: number;
  readonly minUpdateDate?: number;
  readonly maxUpdateDate?: number;
  readonly minInStock?: number;
  readonly maxInStock?: number;
  readonly orderBy?: 'priceAsc' | 'priceDesc' | 'modificationDateAsc' | 'modificationDateDesc';
  readonly page?: number;
  readonly pageSize?: number;
  readonly limit?: number;
  readonly groupOffersByProduct?: boolean;
  readonly facets?: string;
  readonly prefix?: boolean;
  readonly fuzzy?: boolean;
}

/** What is asked for where facets are: all of them. */
export const ALL_FACETS = 'brand,tdCategoryId,category,priceRange(5,9.99,100),feed';
const BOUNDS = [5, 9.99, 100];

export interface Answered {
  readonly totalHits: number;
  /** Ids of the offers of each product. */
  readonly products: readonly (readonly string[])[];
  readonly facets?: Readonly<Record<string, readonly object[]>>;
  readonly corrections?: readonly Correction[];
}

interface Correction {
  readonly word: string;
  readonly replacements: readonly string[];
}

/**
 * The expected answer of a search (Document 1, Search products; decisions P3 to P8, P13, P31 to P33, X7),
 * by examining every offer.
 */
export function answerOf(
  asked: Asked,
  by: 'advertiser' | 'publisher',
  offers: readonly KnownOffer[],
  network: KnownNetwork,
): Answered {
  const { q, ...others } = asked;
  const left = offers
    .filter((offer) => by === 'advertiser' || offer.categories.length > 0)
    .filter(meantBy(others, network));
  const corrections = asked.fuzzy === true ? correctionsOf(asked, left) : [];
  const isMeant = (value: string, { product: { name, description } }: KnownOffer) =>
    wantedWords(value, asked, corrections).every(([word, begins]) =>
      isWordIn(word, [name, description], begins),
    );
  const found = left.filter((offer) => q === undefined || q.some((value) => isMeant(value, offer)));
  const groups = new Map<string, KnownOffer[]>();
  for (const offer of found) {
    const key = asked.groupOffersByProduct === true ? (gtinOf(offer) ?? offer.id) : offer.id;
    groups.set(key, [...(groups.get(key) ?? []), offer]);
  }
  const sorted = [...groups.values()]
    .map((group) => group.sort((a, b) => a.product.price - b.product.price || (a.id < b.id ? -1 : 1)))
    .map((group) => ({ group, ranks: ranksOf(group, asked, corrections) }))
    .sort((a, b) => compare(a.ranks, b.ranks) || (a.group[0]!.id < b.group[0]!.id ? -1 : 1))
    .map(({ group }) => group);
  const { page = 1, pageSize = 100, limit = Infinity } = asked;
  const perPage = Math.min(pageSize, 1000);
  const from = (Math.max(page, 1) - 1) * perPage;
  const size = Math.min(perPage, Math.min(1000, limit) - from);
  return {
    ...(asked.fuzzy === true ? { corrections } : {}),
    ...(asked.facets === undefined ? {} : { facets: facetsOf(found, network) }),
    totalHits: sorted.length,
    products: sorted
      .filter((_, at) => at >= from && at < from + perPage && at < limit && at < 1000)
      .map((group) => group.slice(0, Math.min(1000, Math.floor(10_000 / size))).map(({ id }) => id)),
  };
}

/** Counts of offers, grouped or not (decisions P31). */
function facetsOf(
  found: readonly KnownOffer[],
  { categories }: KnownNetwork,
): NonNullable<Answered['facets']> {
  const named = (id: string) => categories.find((one) => one.id === id)?.names['en'];
  const ranges = [-Infinity, ...BOUNDS].map((from, at) => ({ from, to: BOUNDS[at] ?? Infinity }));
  return {
    brand: valuesOf(found, ({ product: { brand } }) => (brand === undefined ? [] : [withoutCase(brand)])),
    tdCategoryId: valuesOf(found, (offer) => offer.categories).map((one) => ({
      name: named(one.value),
      ...one,
    })),
    category: valuesOf(found, ({ product }) =>
      product.categories.flatMap(({ name }) => (name === undefined ? [] : [withoutCase(name)])),
    ),
    priceRange: ranges.map(({ from, to }) => ({
      ...(from === -Infinity ? {} : { from }),
      ...(to === Infinity ? {} : { to }),
      count: found.filter(({ product: { price } }) => price >= from && price < to).length,
    })),
    feed: valuesOf(found, ({ feedId }) => [String(feedId)]).map(({ value, count }) => ({
      value: Number(value),
      count,
    })),
  };
}

function valuesOf(
  offers: readonly KnownOffer[],
  of: (offer: KnownOffer) => readonly string[],
): readonly { readonly value: string; readonly count: number }[] {
  const all = offers.flatMap((offer) => [...new Set(of(offer))]);
  return [...new Set(all)]
    .filter((value) => value.length <= 200 && !Array.from(value).some((character) => character < ' '))
    .map((value) => ({ value, count: all.filter((one) => one === value).length }))
    .sort((a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)))
    .slice(0, 20)
    .map(({ value, count }) => ({ value: value.normalize(), count }));
}

// Matching ------------------------------------------------------------------------------------------------

/** By all keys but `q`. */
function meantBy(asked: Omit<Asked, 'q'>, network: KnownNetwork): (offer: KnownOffer) => boolean {
  const feeds = network.feeds
    .filter(({ id }) => asked.fid.includes(id))
    .filter(({ currency }) => asked.currency === undefined || asked.currency.toUpperCase() === currency)
    .filter(({ language }) => asked.language === undefined || asked.language.toLowerCase() === language)
    .map(({ id }) => id);
  const texts = TEXTS.map((key) => [key, asked[key]?.map(withoutCase)] as const);
  return (offer) => {
    const { product, modified, feedId } = offer;
    return (
      feeds.includes(feedId) &&
      isWithin(product.price, asked.minPrice, asked.maxPrice) &&
      isWithin(modified, asked.minUpdateDate, asked.maxUpdateDate) &&
      isWithin(product.inStock, asked.minInStock, asked.maxInStock) &&
      isOneOf(product.sourceProductId, asked.spId) &&
      isOneOf(offer.id, asked.tdId) &&
      (asked.tdCategoryId === undefined ||
        offer.categories
          .flatMap((id) => above(id, network))
          .some((id) => isOneOf(Number(id), asked.tdCategoryId))) &&
      CODE_KEYS.every((key) => isOneOf(product[key], asked[key])) &&
      texts.every(
        ([key, wanted]) =>
          wanted === undefined ||
          TEXT_KEYS[key](product).some((value) => wanted.includes(withoutCase(value ?? ''))),
      )
    );
  };
}

const TEXTS = Object.keys(TEXT_KEYS) as readonly TextKey[];

function isWithin(value: number | undefined, min?: number, max?: number): boolean {
  if (min === undefined && max === undefined) return true;
  return value !== undefined && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}

function isOneOf<Value>(value: Value | undefined, wanted: readonly Value[] | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value));
}

/** The words of a value, and whether they may go on (decisions P32); in place of a wrong one what stands for it. */
function wantedWords(
  value: string,
  { prefix }: Pick<Asked, 'prefix'>,
  corrections: readonly Correction[],
): readonly (readonly [word: OracleWord, begins: boolean])[] {
  const words = cutWords(value);
  return words.map((word, at) => {
    if (prefix === true && at === words.length - 1 && word.elements.length === 0) return [word, true];
    const correction = corrections.find((one) => one.word === word.spellings[0]);
    return [correction === undefined ? word : { spellings: correction.replacements, elements: [] }, false];
  });
}

/** Words of `q` that none of the offers has, and the words one letter away that some have (decisions P33). */
function correctionsOf(
  asked: Pick<Asked, 'q' | 'prefix'>,
  offers: readonly KnownOffer[],
): readonly Correction[] {
  const isWhole = (spelling: string) => Array.from(spelling).length >= 5 && Array.from(spelling).length <= 60;
  const wanted = (asked.q ?? []).flatMap((value) => wantedWords(value, asked, []));
  const looked = wanted.flatMap(([{ spellings }, begins]) =>
    begins || spellings.length === 0 || !spellings.every(isWhole) ? [] : [spellings],
  );
  const different = [...new Map(looked.map((one) => [one.join(), one])).values()].slice(0, 10);
  const words = offers.flatMap(({ product: { name, description } }) => {
    const all = [name, description].flatMap((text) => cutWords(text));
    return [...new Set(all.flatMap(({ spellings }) => spellings))];
  });
  const had = different.filter((spellings) => spellings.some((one) => words.includes(one)));
  const missing = new Set(different.map(([plain]) => plain!));
  for (const [plain] of had) missing.delete(plain!);
  return [...missing].flatMap((word) => {
    const count = (one: string) => words.filter((other) => other === one).length;
    const near = [...new Set(words)].filter((one) => isOneLetterOff(one, word));
    const replacements = near.sort((a, b) => count(b) - count(a) || compareTexts(a, b)).slice(0, 10);
    return replacements.length === 0 ? [] : { word, replacements };
  });
}

/** The platform categories of an offer (decisions P13). */
export function categoriesOf(
  { feedId, product }: Pick<KnownOffer, 'feedId' | 'product'>,
  { categories, mappings }: KnownNetwork,
): string[] {
  return product.categories.flatMap((posted) => {
    if (categories.some(({ id }) => id === posted.id)) return [posted.id!];
    const named = categories.filter(({ names }) =>
      Object.values(names).includes(posted.tdCategoryName ?? ''),
    );
    if (named.length === 1) return [named[0]!.id];
    return mappings
      .filter((mapping) => mapping.feedId === feedId && mapping.name === posted.name)
      .map(({ categoryId }) => categoryId);
  });
}

/** A category and its ancestors. */
function above(id: string | null, network: KnownNetwork): string[] {
  const category = network.categories.find((one) => one.id === id);
  return category === undefined ? [] : [category.id, ...above(category.parentId, network)];
}

// Ordering ----------------------------------------------------------------------------------------------

/** Sort keys of a product, ascending. */
function ranksOf(group: readonly KnownOffer[], asked: Asked, corrections: readonly Correction[]): number[] {
  const { orderBy, q } = asked;
  const cheapest = Math.min(...group.map(({ product }) => product.price));
  const newest = Math.max(...group.map(({ modified }) => modified));
  if (orderBy === 'priceAsc') return [cheapest];
  if (orderBy === 'priceDesc') return [-cheapest];
  if (orderBy === 'modificationDateAsc') return [newest];
  if (orderBy === 'modificationDateDesc' || q === undefined) return [-newest];
  const wanted = q.flatMap((value) => wantedWords(value, asked, corrections));
  const words = [...new Map(wanted.map((one) => [JSON.stringify(one), one])).values()];
  const relevances = group.map(
    ({ product }) => words.filter(([word, begins]) => isWordIn(word, [product.name], begins)).length,
  );
  return [-Math.max(...relevances), -newest];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function gtinOf({ product: { ean, upc } }: KnownOffer): string | undefined {
  const gtins = [ean, upc].flatMap((code) => (code === undefined ? [] : code.padStart(14, '0')));
  // In-store numbers and dummies are none; the tests have no numbers of eight digits.
  return gtins.find((gtin) => !/^.(02|04|2)/.test(gtin) && new Set(gtin.replace(/^0+/, '')).size > 1);
}
