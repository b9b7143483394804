import { type ProductCriteria, searchWindow } from '../../projections/product-search';
import { type Caller } from '../directory/organisations';
import { type Directory } from '../directory/directory';
import { type FeedDefinition } from '../directory/events';
import { productFaults as fault } from './faults';
import { type SearchKeys } from './search-keys';

/** A feed that the caller may ask for; raises `PF_392` for another. */
export function ownFeed(directory: Directory, caller: Caller, feedId: number): FeedDefinition {
  const feed = directory.feedsOf(caller).find(({ id }) => id === feedId);
  if (feed !== undefined) return feed;
  throw fault.foreignFeed(`fid=${feedId}: the feed does not belong to a program of the caller`);
}

const LISTS = [
  'category',
  'brand',
  'spId',
  'tdId',
  'ean',
  'mpn',
  'sku',
  'upc',
  'isbn',
  'availability',
  'condition',
  'model',
  'manufacturer',
  'shippingCost',
  'promoText',
  'warranty',
  'deliveryTime',
  'weight',
  'size',
  'techSpec',
  'q',
] as const;

const BOUNDS = ['minUpdateDate', 'maxUpdateDate', 'minInStock', 'maxInStock', 'orderBy'] as const;

/** What a search looks for, of its keys and of what the caller may see (`docs/decisions.md#p13`, `#p26`). */
export function criteriaOf(keys: SearchKeys, directory: Directory, caller: Caller): ProductCriteria {
  const feeds = [...new Set(keys.fid)].map((id) => ownFeed(directory, caller, id));
  const { currency, language, field, minPrice, maxPrice } = keys;
  const asked = feeds
    .filter((feed) => currency === undefined || directory.currencyOf(feed) === currency)
    .filter((feed) => language === undefined || feed.language.toLowerCase() === language);
  return {
    feedIds: asked.map(({ id }) => id),
    visibleOnly: caller.kind === 'publisher',
    ...given(LISTS, keys),
    ...given(BOUNDS, keys),
    ...(field === undefined ? {} : { field: [field] }),
    ...(minPrice === undefined ? {} : { minPrice: minorUnits(minPrice, Math.ceil) }),
    ...(maxPrice === undefined ? {} : { maxPrice: minorUnits(maxPrice, Math.floor) }),
    ...(keys.tdCategoryId.length === 0
      ? {}
      : {
          tdCategoryId: [...new Set(keys.tdCategoryId.flatMap((id) => directory.descendantsOf(String(id))))],
        }),
    window: searchWindow(
      atLeast(0, 'page', keys.page),
      atLeast(1, 'pageSize', keys.pageSize),
      atLeast(0, 'limit', keys.limit),
    ),
  };
}

function given<Key extends keyof SearchKeys>(
  names: readonly Key[],
  keys: SearchKeys,
): { readonly [K in Key]?: NonNullable<SearchKeys[K]> } {
  const entries = names
    .map((name) => [name, keys[name]] as const)
    .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return Object.fromEntries(entries) as { readonly [K in Key]?: NonNullable<SearchKeys[K]> };
}

/** A bound in minor units; what is not a whole number of them is rounded inwards. */
function minorUnits(amount: number, inwards: (minor: number) => number): number {
  const nearest = Math.round(amount * 100);
  return Math.abs(amount * 100 - nearest) < 1e-6 ? nearest : inwards(amount * 100);
}

function atLeast(least: number, key: string, value: number | undefined): number | undefined {
  if (value === undefined || value >= least) return value;
  throw fault.illegalValue(`${key}=${value}: accepted is a whole number from ${least}`);
}
