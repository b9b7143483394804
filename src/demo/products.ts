import { type PostedCategory } from '../categories/mapped-category';
import { type Article, catalogue } from './catalogue';
import { CATEGORIES } from './categories';
import { type DemoFeed, FEEDS } from './feeds';
import { type PostedProduct } from './posted-product';
import { type Random, seededRandom } from './random';
import { inLanguage, type Words } from './words';

/** About 750 products in each feed, as they were posted first: each feed sells about half of all there is. */
export function demoFeed(feedId: number): readonly PostedProduct[] {
  const feed = FEEDS.find(({ id }) => id === feedId);
  if (feed === undefined) return [];
  const random = seededRandom(feedId);
  return catalogue()
    .filter(() => random.chance(0.5))
    .map((article) => posted(article, feed, random));
}

/** A round of changed prices: what was posted again, and when. */
export interface PriceRound {
  readonly feedId: number;
  readonly at: Date;
  readonly products: readonly PostedProduct[];
}

const DAY = 24 * 60 * 60 * 1000;
/** Days before now on which the feeds were first posted. */
export const FIRST_POSTED = 360;
const ROUNDS = 16;

/** Changed prices of the year before `now`, oldest first: in each round an eighth of every feed. */
export function demoPriceChanges(now: Date): readonly PriceRound[] {
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

/** Between a quarter below the first price and a tenth above it, and not what it was before. */
function otherPrice(first: number, before: number, random: Random): number {
  const price = attractive(100 * first * (0.75 + 0.35 * random.next()));
  return price === before ? attractive(100 * price + 100) : price;
}

/** Cents as an amount that ends the way shop prices do. */
function attractive(cents: number): number {
  const whole = Math.max(1, Math.round(cents / 100));
  return whole >= 1000 ? whole : (whole * 100 - (whole % 3 === 0 ? 5 : 1)) / 100;
}

// What a product looks like in a feed ---------------------------------------------------------------------------

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

function posted(article: Article, feed: DemoFeed, random: Random): PostedProduct {
  const { number, kind, brand, model, grams } = article;
  const say = (words: Words): string => inLanguage(words, feed.language);
  const sourceProductId = `${feed.prefix}${String(number).padStart(5, '0')}`;
  const inStock = random.chance(0.85) ? random.between(1, 120) : 0;
  const isNew = random.chance(0.94);
  const [first = '', second = '', third = ''] = article.features.map(say);
  const features = `${say(TEXTS.with)} ${first}, ${second} ${say(TEXTS.and)} ${third}`;
  const attribute = { name: say(kind.attribute.name), value: article.attribute };
  return {
    sourceProductId,
    name: `${brand} ${model} ${say(kind.noun)}, ${say(article.colour)}`,
    description: `${brand} ${model}: ${say(kind.noun)} ${features}. ${say(random.pick(CLOSINGS))} ${attribute.name}: ${attribute.value}.`,
    productUrl: `https://${feed.host}/p/${sourceProductId.toLowerCase()}?colour=${encodeURIComponent(say(article.colour))}`,
    price: attractive(article.price * feed.rate * (0.94 + 0.12 * random.next()) * (isNew ? 1 : 0.7)),
    productImage: { url: `https://${feed.imageHost}/500x300/${number}.jpg`, width: 500, height: 300 },
    categories: [categoryOf(article, feed)],
    availability: say(inStock > 0 ? TEXTS.inStock : TEXTS.ordered),
    brand,
    condition: say(isNew ? TEXTS.new : TEXTS.refurbished),
    deliveryTime: say(inStock > 0 ? TEXTS.soon : TEXTS.later),
    ...(random.chance(0.96) ? identifier(article.ean, feed) : {}),
    sku: `${brand.slice(0, 3).toUpperCase()}${number}`,
    inStock,
    model,
    shippingCost: article.price > 5000 ? say(TEXTS.free) : '4.95',
    shortDescription: `${say(kind.noun)} ${say(TEXTS.with)} ${first}`,
    techSpecs: `${attribute.name}: ${attribute.value}; ${say(TEXTS.colour)}: ${say(article.colour)}`,
    warranty: say(TEXTS.warranty),
    weight: grams < 1000 ? `${grams} g` : `${(grams / 1000).toFixed(1)} kg`,
    ...(random.chance(0.2) ? { promoText: say(TEXTS.promotion) } : {}),
    fields: [{ name: say(TEXTS.colour), value: say(article.colour) }, attribute],
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

/** English shops give a UPC where there is one: the same number by another name. */
function identifier(ean: string, { language }: DemoFeed): { ean: string } | { upc: string } {
  return language === 'en' && ean.startsWith('0') ? { upc: ean.slice(1) } : { ean };
}
