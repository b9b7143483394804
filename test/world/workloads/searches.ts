import { type Offer } from '../../../src/domain/products/offer';
import { type Document } from '../../../src/kernel/read-store';
import { searchKeys } from '../../../src/services/products/keys';
import { totalsKeys } from '../../../src/services/transactions/api';
import { oracleOf } from '../../support/oracle';
import { ALL_FACETS, answerOf, type Asked, type KnownOffer } from '../../support/oracle-search';
import { type Command } from '../clients';
import { type MemoryStore } from '../memory-store';
import { type Random } from '../random';
import { BRANDS } from './categories';
import { callerOf, idsOf, keysOf, queries } from './lists';
import { type Asker, CALLERS, FEEDS, feedsOf, PROGRAMS } from './network-file';
import { IDS } from './products';

/** An answer, and that of a reference model that looks at every document which the query has looked at. */
export interface Compared {
  readonly found: string;
  readonly expected: string;
}

/** Names are those that the directory has now. */
const textOf = (answer: object): string =>
  JSON.stringify(answer, (key, value: unknown) => (key === 'name' ? undefined : value));

interface Wanted {
  readonly caller: Asker;
  readonly keys: Omit<Asked, 'fid'>;
}

/** Some keys, each now and then. */
function keysDrawn(random: Random): Wanted['keys'] {
  const some = <Item>(...items: readonly Item[]): readonly Item[] =>
    Array.from({ length: random.between(1, 2) }, () => random.pick(items));
  const [minPrice = 0, maxPrice = 0] = [random.below(120), random.below(120)].sort((a, b) => a - b);
  const words = some(...BRANDS, ...IDS, 'product', 'pro', 'x produc', 'y b', 'c nothing', '*');
  const all: Wanted['keys'] = {
    q: random.chance(0.3) ? some('produck', 'x prodct', 'roduct b', 'porduce') : words,
    brand: some('x', 'Y', 'none'),
    category: some('X', 'z'),
    spId: some(...IDS),
    ean: some('4000000000000', '4000000000001', '4000000000009'),
    tdCategoryId: some(1, 2, 3, 9),
    ...{ minPrice, maxPrice },
    orderBy: random.pick(['priceAsc', 'priceDesc', 'modificationDateAsc', 'modificationDateDesc']),
    page: random.between(1, 2),
    pageSize: random.between(1, 4),
    ...{ groupOffersByProduct: true, facets: ALL_FACETS, prefix: true, fuzzy: true },
  };
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.25)));
}

export const searchProducts: Command<Wanted, Compared> = {
  name: 'search products',
  weight: 8,
  draw: (random) => ({ caller: random.pick(CALLERS), keys: keysDrawn(random) }),
  run: async (api, { caller, keys }) => {
    const { products, rendering } = api.of(queries);
    const { signal } = new AbortController();
    const feeds = FEEDS.map(({ id }) => ({ id, currency: 'EUR', language: 'de' }));
    const categories = [...rendering.follower.directory.categories.all()];
    const text = Object.entries({ fid: idsOf(caller), ...keys }).map(
      ([key, value]) => `${key}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`,
    );
    const asked = keysOf(searchKeys, text.join(';'));
    const { totalHits, corrections, facets, ...answer } = await products.search(asked, callerOf(caller), {
      signal,
    });
    const ids: string[][] = [];
    for await (const batch of answer.products)
      for (const { offers } of batch) ids.push(offers.map(({ id }) => id));
    const found = textOf({ corrections, facets, totalHits, products: ids });
    const reads = (rendering.store as MemoryStore).seen.get(signal) ?? [];
    const last = reads.at(-1) ?? [];
    // Between what is counted and what is found, something has changed.
    const isTorn = reads.some(
      (rows) => rows.length !== last.length || rows.some((one, at) => one !== last[at]),
    );
    const wanted = { fid: feedsOf(caller).map(({ id }) => id), ...keys };
    const known = last.map(offerOf);
    const expected = textOf(answerOf(wanted, caller.kind, known, { feeds, categories, mappings: [] }));
    return { found, expected: isTorn ? found : expected };
  },
};

function offerOf({ id, body }: Document): KnownOffer {
  const { feedId, sourceProductId, price, modified, mapped, product } = JSON.parse(body) as Offer;
  const posted = { ...product, ...product.identifiers, sourceProductId, price: price / 100 };
  return { id, feedId, modified, product: posted, categories: mapped.filter((one) => one !== null) };
}

interface StoredTransaction {
  readonly messageTypeId: number;
  readonly transaction: Readonly<
    Record<'advertiserId' | 'publisherId' | 'programId' | 'orderValue', number>
  > & {
    readonly currencyId: string;
  };
}

/**
 * Of a program, if that is asked for, a currency and a state: how many, and the sum of their order values (hundredths).
 */
type Total = readonly [of: string, count: number, orderValue: number];

export const totalTransactions: Command<
  { readonly caller: Asker; readonly programId: number | undefined; readonly isByProgram: boolean },
  Compared
> = {
  name: 'total transactions',
  weight: 2,
  draw: (random) => ({
    caller: random.pick(CALLERS),
    programId: random.chance(0.5) ? undefined : random.pick(PROGRAMS).programId,
    isByProgram: random.chance(0.5),
  }),
  run: async (api, { caller, programId, isByProgram }) => {
    const { transactions, rendering } = api.of(queries);
    const { signal } = new AbortController();
    const keys = { programId: programId ?? '', groupBy: isByProgram ? 'programId,state' : '' };
    const text = Object.entries(keys).flatMap(([key, value]) => (value === '' ? [] : `${key}=${value}`));
    const { items } = await transactions.totals(keysOf(totalsKeys, text.join(';')), callerOf(caller), {
      signal,
    });
    const found: Total[] = [];
    for await (const batch of items)
      for (const { programId = '', currencyId, messageTypeId, count, orderValue } of batch)
        found.push([
          `${programId} ${currencyId} ${messageTypeId ?? ''}`,
          count,
          Math.round(100 * orderValue),
        ]);
    const own = ((rendering.store as MemoryStore).seen.get(signal)?.at(-1) ?? []).flatMap(({ id, body }) => {
      const { messageTypeId, transaction } = JSON.parse(body) as StoredTransaction;
      const { advertiserId, publisherId, currencyId, orderValue } = transaction;
      const isOwn = [advertiserId, publisherId].includes(caller.organisationId);
      if (!isOwn || (programId !== undefined && transaction.programId !== programId)) return [];
      const of = `${isByProgram ? transaction.programId : ''} ${currencyId} ${messageTypeId}`;
      return [{ id, body, fields: { of, orderValue } }];
    });
    const expected = oracleOf(own)
      .totals('of', ['orderValue'], { all: [] })
      .map(({ values: [of = ''], count, sums: [sum = 0] }): Total => [of, count, sum]);
    return { found: textOf(found), expected: textOf(expected) };
  },
};
