import { type ParsedEvent } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { defined } from '../../kernel/values';
import { Programs } from '../../network/programs';
import { amount, idOf, instant, integer, text, wordOf } from '../../wire/record/kinds';
import { type Fields } from '../../wire/record/record';
import { tokensOf } from '../../wire/words';
import { type Attributes, messageOf, type Occurrence, type SubscriptionTopic } from '../subscriptions/topic';
import {
  audienceOf,
  type ChangedProduct,
  FEED_CHANGES,
  type FeedAudience,
  type FeedChangeEvent,
} from './feed-changes';
import { offerId, productLink } from './offer';

/** What happens to products and feeds that somebody may be notified of (`docs/decisions.md#n20`). */
const CHANGES = {
  1: { name: 'Price fell' },
  2: { name: 'Back in stock' },
  3: { name: 'Feed changed' },
} as const;

type ProductChangeId = keyof typeof CHANGES;

export const [PRICE_FELL, BACK_IN_STOCK] = [1, 2] as const;

const optional = { optional: true } as const;

const PRODUCT_ATTRIBUTES = {
  productId: {
    kind: text(),
    description: 'Id of the feed, and behind a hyphen the sourceProductId unless it is about the feed',
  },
  changeTypeId: { kind: idOf(CHANGES), description: 'What has happened' },
  changeName: { kind: text(), description: 'Name of the change' },
  changeTime: { kind: instant(), description: 'When it was recorded' },
  loadId: { kind: text(), ...optional, description: 'Load or deletion that has changed it: X-Load-Id' },
  loadTime: { kind: instant(), description: 'When the load ended' },
  feedId: { kind: integer(), description: 'Feed' },
  programId: { kind: integer(), ...optional, description: 'First program of the feed' },
  sourceProductId: { kind: text(), ...optional, description: 'The advertiser’s identifier of the product' },
  tdId: { kind: text(), ...optional, description: 'UUID of the offer, as searches have it' },
  name: { kind: text(), ...optional, description: 'Name of the product' },
  brand: { kind: text(), ...optional, description: 'Brand' },
  ean: { kind: text(), ...optional, description: 'International article number' },
  productUrl: { kind: text(), ...optional, description: 'Page of the product, without tracking' },
  trackingUrl: {
    kind: text(),
    ...optional,
    description: 'Link by which the publisher earns, as searches have it; for publishers only',
  },
  imageUrl: { kind: text(), ...optional, description: 'Image of the product' },
  price: { kind: amount(), ...optional, description: 'Price since the load' },
  formerPrice: { kind: amount(), ...optional, description: 'Price before, if it fell' },
  fallPercent: {
    kind: amount(),
    ...optional,
    description: 'By how much it fell, in per cent of the price before',
  },
  currencyId: { kind: text(), ...optional, description: 'ISO 4217 code of the prices' },
  inStock: { kind: integer(), ...optional, description: 'Number of items in stock' },
  availability: { kind: text(), ...optional, description: 'Availability, as the advertiser says it' },
  tdCategoryId: { kind: text(), ...optional, description: 'Platform category' },
  mode: {
    kind: wordOf('update', 'replace', 'deletion'),
    ...optional,
    description: 'What has changed the feed',
  },
  newProducts: { kind: integer(), ...optional, description: 'Products that the load has added to the feed' },
  revisedProducts: {
    kind: integer(),
    ...optional,
    description: 'Products of which it has changed the content',
  },
  repricedProducts: {
    kind: integer(),
    ...optional,
    description: 'Products of which it has changed only the price',
  },
  removedProducts: { kind: integer(), ...optional, description: 'Products that it has removed' },
  fallenPrices: { kind: integer(), ...optional, description: 'Prices that fell' },
  restockedProducts: { kind: integer(), ...optional, description: 'Products that are back in stock' },
} as const satisfies Fields;

type MessageAttribute = keyof typeof PRODUCT_ATTRIBUTES;

const ATTRIBUTES = Object.keys(PRODUCT_ATTRIBUTES) as readonly MessageAttribute[];

/** Notifications of products, and subscriptions to them (`docs/decisions.md#n20`). */
export const productTopic: SubscriptionTopic = {
  name: 'products',
  streams: [`${FEED_CHANGES}-`],
  joins: ['program-', 'site-', 'feedinfo-'],
  // A product, `<feed id>-<sourceProductId>`, or a feed, `<feed id>`.
  streamOf: (subject) => streamOf(FEED_CHANGES, subject.split('-', 1)[0] ?? ''),
  handles: [
    'ProductPriceFell',
    'ProductBackInStock',
    'FeedChangesRecorded',
  ] satisfies FeedChangeEvent['type'][],
  attributes: ATTRIBUTES,
  occurrence: (event, programs) => occurrenceOf(event as FeedChangeEvent & ParsedEvent, programs),
  example: (changeId, now) => exampleOf(changeId as ProductChangeId, now),
  service: {
    system: 'PRODUCTS',
    module: 'products/subscriptions',
    title: 'Product subscriptions',
    description: 'Subscriptions to messages about products: prices that fell, stock, changes of feeds.',
    errorSchema: 'ProductSubscriptionErrors_v1_0.xsd',
  },
  path: '/1.0/products/subscriptions',
  typeName: 'ProductSubscription',
  prefix: 'Product',
  subject: 'product',
  subjectField: 'productId',
  subjectId: '1001-lamp-1',
  states: { field: 'changeTypeIds', ids: CHANGES, notForAdvertisers: [] },
  filter: {
    programIds: { description: 'Programs of feeds' },
    siteIds: { description: 'Sites that can see the feed' },
    feedIds: { description: 'Feeds' },
    tdCategoryIds: { description: 'Platform categories of products, with all below them' },
    keywords: {
      description: 'Words of which name and brand of a product have all of one value',
      of: 'keyword',
    },
    minFallPercent: {
      description: 'Prices that fell by this much at least, in per cent of the price before',
      of: 'percent',
    },
  },
  message: messageOf('ProductMessage', PRODUCT_ATTRIBUTES),
  sample: {
    states: [1, 2],
    receiverBody: '{"product": ${tdId}, "change": "${changeName}", "price": ${price}, "was": ${formerPrice}}',
  },
};

function occurrenceOf(event: FeedChangeEvent & ParsedEvent, programs: Programs): Occurrence | undefined {
  const { type, data, stream, revision } = event;
  const feedId = Number(stream.slice(FEED_CHANGES.length + 1));
  const audience = audienceOf(programs, feedId);
  const at = { feedId, sequence: revision + 1, at: data.at, audience };
  switch (type) {
    case 'ProductPriceFell':
      return changed({ ...at, product: data, fellFrom: data.fellFrom }, PRICE_FELL);
    case 'ProductBackInStock':
      return changed({ ...at, product: data }, BACK_IN_STOCK);
    case 'FeedChangesRecorded': {
      if (data.load === undefined) return undefined;
      const { loadId, loadTime, programId, mode, removed, fallen, restocked, ...counts } = data.load;
      return about(at, 3, String(feedId), {
        ...{ loadId, loadTime, programId, mode, newProducts: counts.new },
        ...{ revisedProducts: counts.revised, repricedProducts: counts.repriced },
        ...{ removedProducts: removed, fallenPrices: fallen, restockedProducts: restocked },
      });
    }
  }
}

interface SeenFeed {
  readonly feedId: number;
  readonly sequence: number;
  readonly at: string;
  readonly audience: FeedAudience;
}

interface SeenProduct extends SeenFeed {
  readonly product: ChangedProduct;
  readonly fellFrom?: number;
}

type ToldOfProduct = Readonly<Partial<Record<MessageAttribute, string | number | undefined>>>;

function changed(seen: SeenProduct, changeId: ProductChangeId): Occurrence {
  const { feedId, audience, product, fellFrom } = seen;
  const {
    sourceProductId,
    price,
    categoryIds,
    currency,
    name,
    brand = '',
    trackerUrl,
    ...described
  } = product;
  const fall = fellFrom === undefined ? undefined : ((fellFrom - price) * 100) / fellFrom;
  const isMapped = categoryIds.length > 0;
  const values: ToldOfProduct = {
    ...defined(described),
    ...{ sourceProductId, tdId: offerId(feedId, sourceProductId), name, brand: product.brand },
    ...{ price: price / 100, formerPrice: fellFrom === undefined ? undefined : fellFrom / 100 },
    ...{ fallPercent: fall === undefined ? undefined : Math.floor(fall * 100) / 100 },
    ...{ currencyId: currency, tdCategoryId: categoryIds[0] },
  };
  let tokens: ReadonlySet<string> | undefined;
  const found = about(seen, changeId, `${feedId}-${sourceProductId}`, values);
  return {
    ...found,
    // Publishers do not see what is not mapped (`docs/decisions.md#p13`).
    ...(isMapped ? {} : { parties: audience.advertisers, siteId: new Set() }),
    tdCategoryId: new Set(categoryIds.map(Number)),
    ...defined({ fall }),
    currencyId: currency ?? '',
    amounts: currency === undefined ? [] : ['price', 'formerPrice'],
    ...(trackerUrl !== undefined && { own: ownLink(feedId, product, trackerUrl) }),
    get keyword() {
      return (tokens ??= new Set([name, brand].flatMap(tokensOf)));
    },
  };
}

/** `docs/decisions.md#p12` */
function ownLink(
  feedId: number,
  { sourceProductId, productUrl: url }: ChangedProduct,
  trackerUrl: string,
): Required<Occurrence>['own'] {
  return (subscriber, programs) => {
    const link = programs.linkOf(feedId, subscriber);
    if (link === undefined || url === undefined) return {};
    return { trackingUrl: productLink(trackerUrl, link, { feedId, sourceProductId }, url) };
  };
}

function about(
  { feedId, sequence, at, audience }: SeenFeed,
  changeId: ProductChangeId,
  subject: string,
  told: ToldOfProduct,
): Occurrence {
  const { programIds, parties, sites } = audience;
  const own: ToldOfProduct = {
    ...{
      productId: subject,
      changeTypeId: changeId,
      changeName: CHANGES[changeId].name,
      changeTime: at,
      feedId,
    },
    ...told,
  };
  return {
    ...{ subject, sequence, at, feedId, stateId: changeId },
    parties,
    programId: programIds,
    siteId: sites,
    currencyId: '',
    attributes: attributesOf(own),
    amounts: [],
  };
}

function attributesOf(values: ToldOfProduct): Attributes {
  const found = ATTRIBUTES.flatMap((attribute) => {
    const value = values[attribute];
    return value === undefined ? [] : [[attribute, value] as const];
  });
  return Object.fromEntries(found);
}

/** A product, or a feed, with a value for each attribute that its change has. */
function exampleOf(changeId: ProductChangeId, now: Date): Occurrence {
  const at = now.toISOString();
  const audience = audienceOf(new Programs(), 0);
  const seen = { feedId: 1001, sequence: 1, at, audience };
  const load = { loadId: '1b4e28ba-2fa1-4d32-883f-0016d3cca427', loadTime: at, programId: 101 };
  if (changeId === 3)
    return about(seen, changeId, '1001', {
      ...{ ...load, mode: 'update', newProducts: 3, revisedProducts: 20, repricedProducts: 400 },
      ...{ removedProducts: 2, fallenPrices: 120, restockedProducts: 5 },
    });
  const product: ChangedProduct = {
    ...load,
    sourceProductId: 'lamp-1',
    name: 'Wall lamp',
    brand: 'Sol',
    ean: '4006381333931',
    productUrl: 'https://shop.example/lamp-1',
    imageUrl: 'https://shop.example/lamp-1.jpg',
    inStock: 3,
    availability: 'in stock',
    price: 9990,
    currency: 'EUR',
    categoryIds: ['42'],
  };
  const found = changed(
    { ...seen, product, ...(changeId === PRICE_FELL ? { fellFrom: 12990 } : {}) },
    changeId,
  );
  const link = { programId: 101, siteId: 2001 };
  const offer = { ...product, feedId: seen.feedId };
  const trackingUrl = productLink('https://tracker.example', link, offer, product.productUrl ?? '');
  return { ...found, attributes: attributesOf({ ...found.attributes, trackingUrl }) };
}
