import { products } from '../projections/products';
import { type PostedProduct } from '../src/demo/products';
import { foldCase, tokensOf } from '../src/wire/words';
import { phrase } from './bare/tables';
import {
  type BareQuery,
  byPrice,
  byTokens,
  grouped,
  NEWEST,
  newest,
  type Range,
  relevance,
} from './bare/search';

/** One search, on the server and in SQLite. */
interface Asked {
  /** Matrix keys, without `fid`. */
  readonly keys: string;
  readonly bare: BareQuery;
}

/** A kind of search, derived from a product of the feed so that it matches. */
type Kind = (product: PostedProduct, feed: number, range: Range) => Asked;

/** Ten kinds of search by a publisher in one feed, the first page of 100. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'a word': ({ description }, _, range) => {
    const word = wordOf(description, 5);
    return {
      keys: `q=${word}`,
      bare: byTokens(anywhere(word), range, relevance(token('title', word))),
    };
  },
  'a word, by price': ({ description }, _, range) => {
    const word = wordOf(description, 7);
    return { keys: `q=${word};orderBy=priceAsc`, bare: byTokens(anywhere(word), range, 'k.f_price') };
  },
  'two words, by price': ({ description }, _, range) => {
    const words = [wordOf(description, 9), wordOf(description, 11)];
    return {
      keys: `q=${words.join('%20')};orderBy=priceAsc`,
      bare: byTokens(words.map(anywhere).join(' AND '), range, 'k.f_price'),
    };
  },
  'a word and a brand': ({ description, brand = '' }, _, range) => {
    const word = wordOf(description, 13);
    const match = `${anywhere(word)} AND ${token('brand', foldCase(brand))}`;
    return { keys: `q=${word};brand=${brand};orderBy=priceAsc`, bare: byTokens(match, range, 'k.f_price') };
  },
  'a category': ({ categories: [category] }, _, range) => ({
    keys: `category=${encodeURIComponent(category?.name ?? '')}`,
    bare: byTokens(token('category', category?.name ?? ''), range, NEWEST),
  }),
  'a custom field, by price': ({ fields: [field] = [] }, _, range) => {
    const value = `${field?.name ?? ''}=${field?.value ?? ''}`;
    return {
      keys: `field=${encodeURIComponent(value)};orderBy=priceAsc`,
      bare: byTokens(token('field', foldCase(value)), range, 'k.f_price'),
    };
  },
  'prices, by price': ({ price }, feed) => ({
    keys: `minPrice=${price.toFixed(2)};maxPrice=${(price + 10).toFixed(2)};orderBy=priceAsc`,
    bare: byPrice(feed, Math.round(price * 100), Math.round((price + 10) * 100)),
  }),
  'all, newest first': (_, feed) => ({ keys: 'page=1', bare: newest(feed) }),
  'an ean': ({ ean = '' }, _, range) => ({
    keys: `ean=${ean}`,
    bare: byTokens(token('ean', ean), range, NEWEST),
  }),
  'a word, grouped, by price': ({ description }, _, range) => {
    const word = wordOf(description, 15);
    return {
      keys: `q=${word};groupOffersByProduct=true;orderBy=priceAsc`,
      bare: grouped(anywhere(word), range),
    };
  },
};

function wordOf(text: string, at: number): string {
  return tokensOf(text)[at] ?? '';
}

function anywhere(word: string): string {
  return `(${token('title', word)} OR ${token('description', word)})`;
}

function token(field: string, value: string): string {
  return phrase(products.collection, field, value);
}
