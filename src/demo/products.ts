import { type Identifiers, type Product } from '../domain/products/feed';
import { type PostedCategory } from '../network/categories/mapped-category';
import { type Article, catalogue, inLanguage, type Random, seededRandom, type Words } from './catalogue';
import { CATEGORIES, type DemoFeed, FEEDS } from './network';

/** A product as posted in JSON (Document 1, Product posted by an advertiser). */
export interface PostedProduct extends Omit<Product, 'identifiers'>, Identifiers {
  readonly sourceProductId: string;
  /** An amount with at most two decimals. */
  readonly price: number;
}

/** The initial products of a feed, about 750: each feed has about half of all articles. */
export function demoFeed(feedId: number): readonly PostedProduct[] {
  const feed = FEEDS.find(({ id }) => id === feedId);
  if (feed === undefined) return [];
  const random = seededRandom(feedId);
  return catalogue()
    .filter(() => random.chance(0.5))
    .map((article) => toPosted(article, feed, random));
}

export const DAY = 24 * 60 * 60 * 1000;
/** Days before now on which the feeds were first posted. */
export const FIRST_POSTED = 360;
const ROUNDS = 16;

/** Price changes in the year before `now`, oldest first: each round changes an eighth of a feed. */
export function demoPriceChanges(
  now: Date,
): readonly { readonly feedId: number; readonly at: Date; readonly products: readonly PostedProduct[] }[] {
  return FEEDS.flatMap(({ id }, feedNumber) => {
    const random = seededRandom(id + 1);
    const first = demoFeed(id);
    const prices = new Map<string, number>();
    return Array.from({ length: ROUNDS }, (_, round) => {
      const daysAgo = FIRST_POSTED - 15 - round * 22 - feedNumber * 3 - random.next();
      const products = first
        .filter(() => random.chance(1 / 8))
        .map((product) => {
          const before = prices.get(product.sourceProductId) ?? product.price;
          const price = otherPrice(product.price, before, random);
          prices.set(product.sourceProductId, price);
          return { ...product, price };
        });
      return { feedId: id, at: new Date(now.getTime() - daysAgo * DAY), products };
    });
  }).sort((one, other) => one.at.getTime() - other.at.getTime());
}

/** A price from 25 % below to 10 % above the first one that differs from the previous one. */
function otherPrice(first: number, before: number, random: Random): number {
  const price = attractive(100 * first * (0.75 + 0.35 * random.next()));
  return price === before ? attractive(100 * price + 100) : price;
}

/** Rounds cents to an amount with a typical shop ending. */
function attractive(cents: number): number {
  const whole = Math.max(1, Math.round(cents / 100));
  return whole >= 1000 ? whole : (whole * 100 - (whole % 3 === 0 ? 5 : 1)) / 100;
}

// Posted products -----------------------------------------------------------------------------------------------

const TEXTS = {
  with: ['with', 'mit'],
  and: ['and', 'und'],
  colour: ['Colour', 'Farbe'],
  inStock: ['in stock', 'auf Lager'],
  ordered: ['can be ordered', 'bestellbar'],
  new: ['new', 'neu'],
  refurbished: ['refurbished', 'generalüberholt'],
  free: ['free', 'kostenlos'],
  soon: ['1-2 working days', '1-2 Werktage'],
  later: ['2-3 weeks', '2-3 Wochen'],
  warranty: ['2 years', '2 Jahre'],
  promotion: ['Free returns within 30 days', 'Kostenlose Rückgabe innerhalb von 30 Tagen'],
} as const satisfies Readonly<Record<string, Words>>;

const CLOSINGS: readonly Words[] = [
  ['Made for everyday use.', 'Für den täglichen Gebrauch gemacht.'],
  ['Unpacked and ready within minutes.', 'In wenigen Minuten ausgepackt und einsatzbereit.'],
  ['A companion for many years.', 'Ein Begleiter für viele Jahre.'],
  ['Also popular as a present.', 'Auch als Geschenk beliebt.'],
  ['Made mostly of recycled material.', 'Überwiegend aus recyceltem Material gefertigt.'],
  ['Spare parts are available for ten years.', 'Ersatzteile sind zehn Jahre lang erhältlich.'],
];

function toPosted(article: Article, feed: DemoFeed, random: Random): PostedProduct {
  const { number, kind, brand, model, grams } = article;
  const localised = (words: Words): string => inLanguage(words, feed.language);
  const sourceProductId = `${feed.prefix}${String(number).padStart(5, '0')}`;
  const inStock = random.chance(0.85) ? random.between(1, 120) : 0;
  const isNew = random.chance(0.94);
  const [first = '', second = '', third = ''] = article.features.map(localised);
  const features = `${localised(TEXTS.with)} ${first}, ${second} ${localised(TEXTS.and)} ${third}`;
  const page = `https://${feed.host}/p/${sourceProductId.toLowerCase()}`;
  const attribute = { name: localised(kind.attribute.name), value: article.attribute };
  return {
    sourceProductId,
    name: `${brand} ${model} ${localised(kind.noun)}, ${localised(article.colour)}`,
    description:
      `${brand} ${model}: ${localised(kind.noun)} ${features}. ${localised(random.pick(CLOSINGS))} ` +
      `${attribute.name}: ${attribute.value}.`,
    productUrl: `${page}?colour=${encodeURIComponent(localised(article.colour))}`,
    price: attractive(article.price * feed.rate * (0.94 + 0.12 * random.next()) * (isNew ? 1 : 0.7)),
    productImage: { url: `https://${feed.imageHost}/500x300/${number}.jpg`, width: 500, height: 300 },
    categories: [categoryOf(article, feed)],
    availability: localised(inStock > 0 ? TEXTS.inStock : TEXTS.ordered),
    brand,
    condition: localised(isNew ? TEXTS.new : TEXTS.refurbished),
    deliveryTime: localised(inStock > 0 ? TEXTS.soon : TEXTS.later),
    ...(random.chance(0.96) ? identifier(article.ean, feed) : {}),
    sku: `${brand.slice(0, 3).toUpperCase()}${number}`,
    inStock,
    model,
    shippingCost: article.price > 5000 ? localised(TEXTS.free) : '4.95',
    shortDescription: `${localised(kind.noun)} ${localised(TEXTS.with)} ${first}`,
    techSpecs: `${attribute.name}: ${attribute.value}; ${localised(TEXTS.colour)}: ${localised(article.colour)}`,
    warranty: localised(TEXTS.warranty),
    weight: grams < 1000 ? `${grams} g` : `${(grams / 1000).toFixed(1)} kg`,
    ...(random.chance(0.2) ? { promoText: localised(TEXTS.promotion) } : {}),
    fields: [{ name: localised(TEXTS.colour), value: localised(article.colour) }, attribute],
  };
}

function categoryOf({ kind }: Article, { language, maps, unmapped }: DemoFeed): PostedCategory {
  const name = inLanguage(kind.shelf, language);
  if (maps === 'by mapping' || unmapped.includes(kind.category)) return { name };
  if (maps === 'by category id') return { id: kind.category, name };
  const tdCategoryName = CATEGORIES[kind.category];
  return tdCategoryName === undefined
    ? { name }
    : { name, tdCategoryName: inLanguage(tdCategoryName, language) };
}

/** English shops post a UPC if the EAN has one. */
function identifier(ean: string, { language }: DemoFeed): { ean: string } | { upc: string } {
  return language === 'en' && ean.startsWith('0') ? { upc: ean.slice(1) } : { ean };
}
