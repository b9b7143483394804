import { type DateFormat, writeDate } from '../../wire/date';
import { type AnswerOf } from '../../wire/record/record';
import { type Directory } from '../../network/directory';
import { type Position } from '../../kernel/event';
import { type Caller } from '../../network/organisations';
import { type PostedCategory } from '../../network/categories/mapped-category';
import { type Product } from '../../domain/products/feed';
import {
  formatPrice,
  type foundOffer,
  type foundProduct,
  OFFER_TEXTS,
  type pastPrice,
  PRODUCT_TEXTS,
} from '../../domain/products/product-fields';
import { groupingIdOf, type Offer, productLink } from '../../domain/products/offer';

/**
 * Prices of an offer, newest first: minor units, since when (epoch ms), the position of the event, and the currency,
 * empty if it is unknown. Read models of earlier versions, which are searched until this version is built, lack the
 * last ones.
 */
type Prices = readonly PriceSince[];

type PriceSince = readonly [
  price: number,
  since: number,
  position?: Position | undefined,
  currency?: string | undefined,
];

/** What an answer depends on besides its offers. */
export interface OutputView {
  readonly directory: Pick<Directory, 'feed' | 'programOf' | 'currencyOf' | 'siteFor' | 'category'>;
  readonly caller: Caller;
  readonly trackerUrl: string;
  /** A publisher asked for the advertiser's own URL too. */
  readonly sourceProductUrl: boolean;
  readonly dates: DateFormat;
  /** Which prices of an offer are included (`docs/decisions.md#p10`). */
  readonly pastPrices: 'none' | 'current' | 'all';
  /** By offer id; absent if none are included. They may be newer than the offers. */
  readonly prices?: ReadonlyMap<string, Prices>;
}

/** Optional fields that are answered as they were posted. */
const AS_POSTED = {
  product: [...PRODUCT_TEXTS, 'identifiers', 'inStock', 'fields'],
  offer: OFFER_TEXTS,
} as const;

export type OutputProduct = AnswerOf<typeof foundProduct>;
export type OutputOffer = AnswerOf<typeof foundOffer>;
export type PastPrice = AnswerOf<typeof pastPrice>;

/** What is being put together. Millions are: spreading many small objects into one takes longer than all the rest. */
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const NONE = {} as const;

/** A product of one offer or of several grouped ones: what is not the offer's own comes from the first. */
export function toOutput(offers: readonly [Offer, ...Offer[]], view: OutputView): OutputProduct {
  const [first] = offers;
  const { product } = first;
  const { directory, caller } = view;
  const feed = directory.feed(first.feedId);
  const logo = feed && directory.programOf(caller, feed)?.logoUrl;
  const optional: Mutable<Partial<OutputProduct>> = {};
  if (feed?.language !== undefined) optional.language = feed.language;
  pick(AS_POSTED.product, product, optional);
  if (typeof logo === 'string') optional.programLogo = logo;
  return {
    name: product.name,
    description: product.description,
    productImage: product.productImage,
    categories: product.categories.map((category, at) =>
      toCategory(category, first.mapped[at] ?? null, directory),
    ),
    ...optional,
    groupingId: groupingIdOf(product.identifiers, first.id),
    offers: offers.map((offer) => toOutputOffer(offer, view)),
  };
}

/** The platform category by its English name, an unmapped one as posted (`docs/decisions.md#p13`). */
function toCategory(
  posted: PostedCategory,
  mapped: string | null,
  directory: OutputView['directory'],
): PostedCategory {
  const { name } = posted;
  const id = mapped ?? posted.id;
  const platform = mapped === null ? undefined : directory.category(mapped);
  // A category that was removed after the product was posted has no name but its id.
  const tdCategoryName = platform?.names.en ?? posted.tdCategoryName ?? (name === undefined ? id : undefined);
  const category: Mutable<PostedCategory> = {};
  if (id !== undefined) category.id = id;
  if (name !== undefined) category.name = name;
  if (tdCategoryName !== undefined) category.tdCategoryName = tdCategoryName;
  return category;
}

function toOutputOffer(offer: Offer, view: OutputView): OutputOffer {
  const { directory, caller } = view;
  const { id, feedId, sourceProductId, price, modified, product } = offer;
  const feed = directory.feed(feedId);
  const program = feed && directory.programOf(caller, feed);
  const isTracked = caller.kind === 'publisher' && feed !== undefined && program !== undefined;
  const productUrl = isTracked
    ? productLink(
        view.trackerUrl,
        { programId: program.id, siteId: directory.siteFor(caller, feed) },
        offer,
        product.productUrl,
      )
    : product.productUrl;
  const prices = outputPrices(offer, view);
  const currency = (feed && directory.currencyOf(feed)) ?? '';
  const toPastPrice = ([minor, since, , then = '']: PriceSince): PastPrice => ({
    price: { value: formatPrice(minor), currency: then === '' ? currency : then },
    date: writeDate(since, view.dates),
  });
  return {
    id,
    feedId,
    sourceProductId,
    ...(program === undefined ? NONE : { programName: program.name }),
    productUrl,
    ...(isTracked && view.sourceProductUrl ? { sourceProductUrl: product.productUrl } : NONE),
    price: { minor: price, currency },
    ...(prices === undefined ? NONE : { priceHistory: prices.map(toPastPrice) }),
    modified: writeDate(modified, view.dates),
    ...pick(AS_POSTED.offer, product, {}),
  };
}

/** Prices as of the offer's own version, the first one its own even if the history does not have it yet. */
function outputPrices(
  { id, position, price, currency, modified }: Offer,
  { pastPrices, prices }: OutputView,
): readonly PriceSince[] | undefined {
  if (pastPrices === 'none') return undefined;
  const known: readonly PriceSince[] = (prices?.get(id) ?? []).filter(([, since, at]) =>
    at === undefined ? since <= modified : at <= position,
  );
  const [last] = known;
  // An unknown currency is any.
  const isKnown = last?.[0] === price && (!last[3] || !currency || last[3] === currency);
  const all = isKnown ? known : [[price, modified, position, currency] as const, ...known];
  return pastPrices === 'all' ? all : all.slice(0, 1);
}

function pick<Name extends keyof Product>(
  names: readonly Name[],
  product: Product,
  into: Mutable<Partial<Pick<Product, Name>>>,
): typeof into {
  const fields: Partial<Record<Name, unknown>> = into;
  for (const name of names) {
    const value = product[name];
    if (value !== undefined) fields[name] = value;
  }
  return into;
}

/** A product as JSON has it: prices are numbers in major units. */
export function toJsonProduct(product: OutputProduct): object {
  const offers = product.offers.map((offer) => ({ ...offer, price: offer.price.minor / 100 }));
  return { ...product, offers };
}
