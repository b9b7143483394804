import { Injectable } from '@nestjs/common';
import { pricesOf } from '../../../projections/price-history';
import {
  type Correction,
  correctionsOf,
  countProducts,
  type FacetName,
  type FoundProducts,
  pageSizeOf,
  type ProductCriteria,
  SEARCH_CAP,
  searchGroupedProducts,
  searchProducts,
  searchWindow,
  type Suggestions,
  suggestionsOf,
  type WantedFacets,
  wholeWindow,
  windowAfter,
} from '../../../projections/product-search';
import { DirectoryView } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { type Directory } from '../../network/directory';
import { type FeedDefinition } from '../../network/events';
import { productFaults as fault } from '../../domain/products/feed';
import { formatPrice, type OutputFacets } from '../../domain/products/product-fields';
import { oneAnswer, type QueryOptions, type ValueCount } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { searchCursors, type SearchKeys, searchKeys } from './keys';
import { atLeast } from '../../wire/keys/pages';
import { tooManyWords } from '../../wire/words';
import { customFieldNames, type Offer, offerId } from '../../domain/products/offer';
import { type OutputProduct, type OutputView, toOutput } from './output';
import { sentAmong, TEXT } from '../../wire/keys/keys';
import { products, toOffer } from '../../../projections/products';
import { mappedCategory, type PostedCategory } from '../../network/categories/mapped-category';
import { type Suggestion, suggestMappings } from '../../network/categories/suggest-mappings';
import {
  type Asker,
  type Condition,
  conditionOf,
  connectionCondition,
  type Viewer,
  type Visibility,
  visibilityBy,
} from '../../network/visibility';

/** The settings that answers depend on. */
export abstract class ProductSettings {
  abstract readonly vendor: string;
  /** Without a slash at the end. */
  abstract readonly trackerUrl: string;
  /** `always`: each offer has its current price as the newest entry of its history (`docs/decisions.md#p10`). */
  abstract readonly priceHistory: 'asked' | 'always';
  /** A search without `fid` covers all feeds of the caller (`docs/decisions.md#x13`). */
  abstract readonly searchAllFeeds: boolean;
  /** Bytes a second below which a client that downloads a feed is disconnected. */
  abstract readonly downloadRate: number;
}

/** Prices that are included without the key `priceHistory`. */
export const PRESENT_PRICES = { asked: 'none', always: 'current' } as const;

/** The answer to a search, not yet in a format. */
export interface SearchResult {
  readonly totalHits: number;
  /** The cursor of the next page, if paging by cursor and not on the last page (`docs/decisions.md#p28`). */
  readonly nextCursor?: string;
  readonly corrections?: readonly Correction[];
  readonly suggestions?: Suggestions;
  readonly facets?: OutputFacets;
  /** In batches, read on demand. */
  readonly products: AsyncIterable<Iterable<OutputProduct>>;
  readonly dates: OutputView['dates'];
  /** With `csvFlattenFields`: the names of all custom fields of the whole result. */
  readonly customFields?: readonly string[];
}

/** Queries of products: the read models, joined with the directory. */
@Injectable()
export class ProductQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly follower: DirectoryView,
    private readonly settings: ProductSettings,
  ) {}

  /** Document 1, Search products. */
  async search(keys: SearchKeys, caller: Caller, options: QueryOptions = {}): Promise<SearchResult> {
    const query = oneAnswer(options);
    const { directory } = this.follower;
    const asked = criteriaOf(keys, this.feedsToSearch(keys, caller), directory, caller);
    const corrections = keys.fuzzy === true ? await correctionsOf(this.store, asked, query) : undefined;
    const criteria = corrections === undefined ? asked : { ...asked, corrections };
    const suggestions =
      keys.suggest === undefined ? undefined : await suggestionsOf(this.store, asked, keys.suggest, query);
    const isGrouped = keys.groupOffersByProduct === true;
    const [{ total, next, groups }, facets] = await Promise.all([
      this.find(criteria, isGrouped, query),
      keys.facets && this.facets(criteria, keys.facets, query),
    ]);
    const dates = keys.dateOutputFormat ?? 'epoch';
    const view: OutputView = {
      directory,
      caller,
      trackerUrl: this.settings.trackerUrl,
      sourceProductUrl: keys.sourceproducturl.includes(true),
      dates,
      pastPrices: keys.priceHistory === true ? 'all' : PRESENT_PRICES[this.settings.priceHistory],
    };
    const nextCursor = next && searchCursors.write(keys, next);
    const result = {
      totalHits: total,
      ...(nextCursor === undefined ? {} : { nextCursor }),
      ...(corrections === undefined ? {} : { corrections }),
      ...(suggestions === undefined ? {} : { suggestions }),
      ...(facets === undefined ? {} : { facets }),
      dates,
    };
    if (keys.csvFlattenFields !== true) return { ...result, products: this.written(groups, view, query) };
    const whole = await this.find({ ...criteria, window: wholeWindow(keys.limit) }, isGrouped, query);
    const names = new Set<string>();
    // Products of the page have their columns even if they changed after the page was found.
    for await (const batch of groups) addNames(batch, names);
    for await (const batch of whole.groups) addNames(batch, names);
    return { ...result, products: this.written(groups, view, query), customFields: [...names].sort() };
  }

  /** Counts within the result, with the names of categories and feeds (`docs/decisions.md#p31`). */
  private async facets(
    criteria: ProductCriteria,
    wanted: WantedFacets,
    query: QueryOptions,
  ): Promise<OutputFacets> {
    const { directory } = this.follower;
    const counts = await countProducts(this.store, criteria, wanted, query);
    const list = (name: FacetName): readonly ValueCount[] => counts.get(name) ?? [];
    const texts = (name: FacetName, nameOf: (value: string) => string | undefined = () => undefined) =>
      list(name).map(({ value, count }) => ({
        value: String(value).normalize(),
        ...named(nameOf(String(value))),
        count,
      }));
    const all: Required<OutputFacets> = {
      brand: texts('brand'),
      tdCategoryId: texts('tdCategoryId', (id) => directory.category(id)?.names.en),
      category: texts('category'),
      priceRange: list('priceRange').map(({ count }, at) => ({
        ...ranged(wanted.priceBounds[at - 1], wanted.priceBounds[at]),
        count,
      })),
      feed: list('feed').map(({ value, count }) => ({
        value: Number(value),
        ...named(directory.feed(Number(value))?.name),
        count,
      })),
    };
    return Object.fromEntries(wanted.names.map((name) => [name, all[name]]));
  }

  private feedsToSearch({ fid }: SearchKeys, caller: Caller): readonly FeedDefinition[] {
    const { directory } = this.follower;
    if (fid.length > 0) return [...new Set(fid)].map((id) => ownFeed(directory, caller, id));
    if (this.settings.searchAllFeeds) return directory.feedsOf(caller);
    throw fault.parametersMissing('fid is missing: /1.0/products;fid=…');
  }

  private async find(
    criteria: ProductCriteria,
    isGrouped: boolean,
    query: QueryOptions,
  ): Promise<FoundProducts> {
    return await (isGrouped
      ? searchGroupedProducts(this.store, criteria, query)
      : searchProducts(this.store, criteria, query));
  }

  /** Products as they are answered, joined batch by batch with the directory and their prices. */
  private async *written(
    groups: FoundProducts['groups'],
    view: OutputView,
    query: QueryOptions,
  ): AsyncGenerator<Iterable<OutputProduct>> {
    for await (const batch of groups) {
      if (view.pastPrices === 'none') {
        yield joined(batch, view);
        continue;
      }
      const ids = batch.flat().map(({ id }) => id);
      yield joined(batch, { ...view, prices: await pricesOf(this.store, ids, query) });
    }
  }
}

function named(name: string | undefined): { readonly name?: string } {
  return name === undefined ? {} : { name };
}

/** A range of prices in major units. */
function ranged(
  from: number | undefined,
  to: number | undefined,
): { readonly from?: number; readonly to?: number } {
  return {
    ...(from === undefined ? {} : { from: from / 100 }),
    ...(to === undefined ? {} : { to: to / 100 }),
  };
}

/** One by one as they are written. */
function* joined(groups: readonly (readonly Offer[])[], view: OutputView): Generator<OutputProduct> {
  for (const group of groups) if (isSome(group)) yield toOutput(group, view);
}

/** Adds the names of custom fields; the product of a group is that of its first offer. */
function addNames(groups: readonly (readonly Offer[])[], names: Set<string>): void {
  for (const [first] of groups)
    for (const name of first === undefined ? [] : customFieldNames([first.product])) names.add(name);
}

function isSome(group: readonly Offer[]): group is readonly [Offer, ...Offer[]] {
  return group.length > 0;
}

/** A feed of the caller; raises `PF_392` for any other. */
export function ownFeed(directory: Directory, caller: Caller, feedId: number): FeedDefinition {
  const feed = directory.feedsOf(caller).find(({ id }) => id === feedId);
  if (feed !== undefined) return feed;
  throw fault.foreignFeed(`fid=${feedId}: the feed does not belong to a program of the caller`);
}

/** Keys that take several texts: alternatives of one field. */
type ListKey = {
  [Key in keyof SearchKeys]: SearchKeys[Key] extends readonly string[] ? Key : never;
}[keyof SearchKeys];

const LISTS = (Object.keys(searchKeys) as (keyof SearchKeys)[]).filter(
  (key): key is ListKey => searchKeys[key].type === TEXT && 'multiple' in searchKeys[key],
);

const BOUNDS = ['minUpdateDate', 'maxUpdateDate', 'minInStock', 'maxInStock', 'orderBy'] as const;

/** The criteria of a search: its keys, limited to what the caller may see (`docs/decisions.md#p13`, `#p26`). */
function criteriaOf(
  keys: SearchKeys,
  feeds: readonly FeedDefinition[],
  directory: Directory,
  caller: Caller,
): ProductCriteria {
  requireFewWords(keys);
  const { currency, language, field, minPrice, maxPrice } = keys;
  const categoryIds = keys.tdCategoryId.flatMap((id) => directory.categories.descendantsOf(String(id)));
  const asked = feeds
    .filter((feed) => currency === undefined || directory.currencyOf(feed) === currency)
    .filter((feed) => language === undefined || feed.language.toLowerCase() === language);
  return {
    feedIds: asked.map(({ id }) => id),
    visibleOnly: caller.kind === 'publisher',
    ...sentAmong(LISTS, keys),
    ...sentAmong(BOUNDS, keys),
    ...(keys.prefix === true ? { prefix: true } : {}),
    ...(field === undefined ? {} : { field: [field] }),
    ...(minPrice === undefined ? {} : { minPrice: minorUnits(minPrice, Math.ceil) }),
    ...(maxPrice === undefined ? {} : { maxPrice: minorUnits(maxPrice, Math.floor) }),
    ...(keys.tdCategoryId.length === 0 ? {} : { tdCategoryId: [...new Set(categoryIds)] }),
    window: windowOf(keys),
  };
}

function windowOf(keys: SearchKeys): ProductCriteria['window'] {
  const after = searchCursors.read(keys);
  const pageSize = atLeast(1, 'pageSize', keys.pageSize, fault.illegalValue);
  if (after !== undefined) return windowAfter(after, pageSize);
  const page = atLeast(0, 'page', keys.page, fault.illegalValue);
  return searchWindow(page, pageSize, atLeast(0, 'limit', keys.limit, fault.illegalValue));
}

/** The requested and the applied size of pages; a `limit` above the cap asks for more too (`docs/decisions.md#p3`). */
export function sizesOf({ pageSize, limit = 0 }: SearchKeys) {
  return { requested: limit > SEARCH_CAP ? Infinity : pageSize, applied: pageSizeOf(pageSize) };
}

/** A bound in minor units; fractions are rounded inwards. */
function minorUnits(amount: number, inwards: (minor: number) => number): number {
  const nearest = Math.round(amount * 100);
  return Math.abs(amount * 100 - nearest) < 1e-6 ? nearest : inwards(amount * 100);
}

/** Most values of `q` whose last words are matched as prefixes (`docs/decisions.md#p32`). */
const MOST_BEGINNINGS = 20;

function requireFewWords({ q, prefix }: SearchKeys): void {
  const trouble = tooManyWords('q', q);
  if (trouble !== undefined) throw fault.illegalValue(trouble);
  if (prefix === true && q.length > MOST_BEGINNINGS)
    throw fault.illegalValue(
      `q has ${q.length} values: expected at most ${MOST_BEGINNINGS} with prefix=true; send fewer, or leave out prefix`,
    );
}

/** Categories of a product that are named. */
const MOST = 5;

/**
 * What must hold for publishers to see a product of a feed (`docs/decisions.md#p13`, `#p22`, `#p26`): for any of them,
 * or for a viewer.
 */
export async function productVisibility(
  { store, directory }: { readonly store: ReadStore; readonly directory: Directory },
  { feed, sourceProductId }: { readonly feed: FeedDefinition; readonly sourceProductId: string },
  who: { readonly asker: Asker; readonly viewer?: Viewer | undefined },
  query: QueryOptions = {},
): Promise<Visibility> {
  const target = { collection: products.collection.name };
  const [found] = await store.get(target, [offerId(feed.id, sourceProductId)], query);
  const offer = found && toOffer(found);
  return visibilityBy([
    storedCondition(offer, feed, sourceProductId),
    ...(offer === undefined ? [] : [await mappedCondition(offer, directory, who.asker)]),
    ...(['active', 'visible'] as const).map((flag) => feedCondition(feed, flag, who.asker)),
    connectionCondition(directory, feed.programIds, { viewer: undefined, ...who }),
  ]);
}

function storedCondition(
  offer: Offer | undefined,
  { id }: FeedDefinition,
  sourceProductId: string,
): Condition {
  return conditionOf(
    'stored',
    offer !== undefined,
    offer === undefined
      ? `feed ${id} has no product with the sourceProductId ${sourceProductId}`
      : `${offer.product.name}, ${formatPrice(offer.price)} ${offer.currency ?? ''}, last changed at ` +
          new Date(offer.modified).toISOString(),
    `post it to /1.0/products;fid=${id}; /1.0/products/imports;fid=${id} has what was refused of the last posts`,
  );
}

async function mappedCondition(
  { feedId, mapped, product: { categories } }: Offer,
  directory: Directory,
  asker: Asker,
): Promise<Condition> {
  const texts = categories.slice(0, MOST).map((category, at) => {
    const stored = mapped[at] ?? undefined;
    const now = mappedCategory(category, feedId, directory);
    const follows = stored === now ? '' : ', which searches will follow shortly';
    return now === undefined
      ? `${textOf(category)} is mapped to no category${follows}`
      : `${textOf(category)} is mapped to ${now} (${directory.category(now)?.names['en'] ?? ''})${follows}`;
  });
  const more = categories.length > MOST ? `; and ${categories.length - MOST} more` : '';
  const name = categories.find((category) => category.name !== undefined)?.name;
  const [suggested] = name === undefined ? [] : await suggestMappings(directory, [{ categoryName: name }], 3);
  return conditionOf(
    'mapped',
    mapped.some((id) => id !== null),
    categories.length === 0 ? 'it has no category' : `${texts.join('; ')}${more}`,
    mappingRemedy(asker, feedId, name, suggested?.suggestions ?? []),
  );
}

function textOf({ id, name, tdCategoryName }: PostedCategory): string {
  return name === undefined ? `category ${id ?? tdCategoryName ?? ''}` : `"${name}"`;
}

function mappingRemedy(
  asker: Asker,
  feedId: number,
  name: string | undefined,
  suggestions: readonly Suggestion[],
): string {
  const similar = suggestions.map(({ categoryId, path }) => `${categoryId} (${path})`).join(', ');
  const candidates = similar === '' ? '' : `; similar ones: ${similar}`;
  if (asker === 'owner' || name === undefined)
    return `post it with the id of a category of /1.0/productCategories${candidates}`;
  const category = suggestions[0]?.categoryId ?? '<id>';
  return `affilog mappings map --feed ${feedId} --name ${quoted(name)} --category ${category}${candidates}`;
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

function feedCondition(feed: FeedDefinition, flag: 'active' | 'visible', asker: Asker): Condition {
  return conditionOf(
    `feed ${flag}`,
    feed[flag],
    `"${flag}" of feed ${feed.id} (${feed.name}) is ${String(feed[flag])}`,
    asker === 'operator'
      ? `set it to true in a network file, and import it with \`affilog network import\``
      : 'ask the network to set it to true',
  );
}
