import { type Filter, type GroupOrder } from '../../../src/kernel/query';
import { type Document } from '../../../src/kernel/read-store';
import { searchKeys } from '../../../src/services/products/keys';
import { totalsKeys } from '../../../src/services/transactions/transaction.queries';
import { oracleOf } from '../../support/oracle';
import { type Command } from '../clients';
import { type MemoryStore } from '../memory-store';
import { type Random } from '../random';
import { BRANDS } from './categories';
import { type Asker, callerOf, feedsOf, keysOf, queries } from './lists';
import { CALLERS, PROGRAMS } from './network-file';
import { IDS } from './products';

/** A search of products. */
interface Wanted {
  readonly caller: Asker;
  readonly keys: Readonly<Partial<Record<keyof typeof searchKeys, string | readonly string[]>>>;
}

const ORDERS = {
  priceAsc: { field: 'price' },
  priceDesc: { field: 'price', descending: true },
  modificationDateAsc: { field: 'modified' },
  modificationDateDesc: { field: 'modified', descending: true },
} as const;
type OrderName = keyof typeof ORDERS;

/** Some keys, each now and then. */
function keysDrawn(random: Random): Wanted['keys'] {
  const some = (items: readonly string[]): readonly string[] =>
    Array.from({ length: random.between(1, 2) }, () => random.pick(items));
  const [low, high] = [random.below(120), random.below(120)].sort((a, b) => a - b);
  const all: Wanted['keys'] = {
    q: some([...BRANDS, ...IDS, 'product', 'x product', 'y b', 'c nothing', '*']),
    brand: some(['x', 'Y', 'none']),
    category: some(['X', 'z']),
    spId: some(IDS),
    ean: some(['4000000000000', '4000000000001', '4000000000009']),
    tdCategoryId: some(['1', '2', '3', '9']),
    minPrice: String(low),
    maxPrice: String(high),
    orderBy: random.pick(Object.keys(ORDERS)),
    page: String(random.between(1, 2)),
    pageSize: String(random.between(1, 4)),
    groupOffersByProduct: 'true',
  };
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.25)));
}

/** What was found: how many, and the ids of the offers of each product on the page. */
interface Page {
  readonly total: number;
  readonly ids: readonly (readonly string[])[];
}

/** The answer, and that of someone who looks at every document that the query has looked at. */
export const searchProducts: Command<Wanted, { readonly found: Page; readonly expected: Page }> = {
  name: 'search products',
  weight: 8,
  draw: (random) => ({ caller: random.pick(CALLERS), keys: keysDrawn(random) }),
  run: async (api, { caller, keys }) => {
    const { products, rendering } = api.of(queries);
    const { signal } = new AbortController();
    const tree = [...rendering.follower.directory.categories.all()];
    const text = Object.entries({ fid: feedsOf(caller), ...keys }).map(
      ([key, value]) => `${key}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`,
    );
    const asked = keysOf(searchKeys, text.join(';'));
    const answer = await products.search(asked, callerOf(caller), { signal });
    const ids: string[][] = [];
    for await (const batch of answer.products)
      for (const { offers } of batch) ids.push(offers.map(({ id }) => id));
    const seen = (rendering.store as MemoryStore).seen.get(signal) ?? [];
    return { found: { total: answer.totalHits, ids }, expected: expectedOf(seen, caller, keys, tree) };
  },
};

interface StoredOffer {
  readonly feedId: number;
  readonly sourceProductId: string;
  readonly price: number;
  readonly modified: number;
  readonly mapped: readonly (string | null)[];
  readonly product: Readonly<Record<'name' | 'description' | 'brand', string>> & {
    readonly identifiers: { readonly ean: string };
    readonly categories: readonly { readonly name: string }[];
  };
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/\w+/g) ?? [];

/** By the stored bodies alone, as Document 1 describes searches. */
function documentOf({ id, body }: Document): Document {
  const { feedId, sourceProductId: spId, price, modified, mapped, product } = JSON.parse(body) as StoredOffer;
  const { name, description, brand, identifiers, categories } = product;
  const tdCategoryId = mapped.filter((one) => one !== null);
  const [title, texts] = [wordsOf(name), wordsOf(description)];
  const folded = { brand: brand.toLowerCase(), category: categories.map((one) => one.name.toLowerCase()) };
  const fields = { feedId, price, modified, spId, ...folded, ean: identifiers.ean, tdCategoryId };
  return { id, body, fields: { ...fields, title, texts: [...title, ...texts] } };
}

function expectedOf(
  seen: readonly Document[],
  { kind, organisationId }: Asker,
  keys: Wanted['keys'],
  tree: readonly { readonly id: string; readonly parentId: string | null }[],
): Page {
  const valuesOf = (key: keyof Wanted['keys']): readonly string[] => [keys[key] ?? []].flat();
  const below = new Set(valuesOf('tdCategoryId').filter((id) => tree.some((one) => one.id === id)));
  for (const id of below) for (const one of tree) if (one.parentId === id) below.add(one.id);
  const isAsked = (key: keyof Wanted['keys']): boolean => keys[key] !== undefined;
  const among = (field: string, values: readonly (string | number)[]): Filter => ({ field, in: values });
  const [min, max] = [valuesOf('minPrice'), valuesOf('maxPrice')].map(([price]) => Number(price) * 100);
  const words = valuesOf('q').map(wordsOf);
  const filters: readonly (readonly [boolean, Filter])[] = [
    [
      true,
      among(
        'feedId',
        feedsOf({ kind, organisationId } as Asker)
          .split(',')
          .map(Number),
      ),
    ],
    [isAsked('q'), { any: words.map((all) => ({ words: all, within: ['texts'] })) }],
    ...(['spId', 'ean'] as const).map((key) => [isAsked(key), among(key, valuesOf(key))] as const),
    ...(['brand', 'category'] as const).map(
      (key) =>
        [
          isAsked(key),
          among(
            key,
            valuesOf(key).map((one) => one.toLowerCase()),
          ),
        ] as const,
    ),
    [isAsked('tdCategoryId'), among('tdCategoryId', [...below])],
    [isAsked('minPrice'), { field: 'price', min: min! }],
    [isAsked('maxPrice'), { field: 'price', max: max! }],
  ];
  const filter = { all: filters.flatMap(([isIn, one]) => (isIn ? [one] : [])) };
  const matches = [...new Set(words.flat())];
  const best = matches.length === 0 ? [] : [{ matches, within: 'title', descending: true } as const];
  const order = isAsked('orderBy')
    ? [ORDERS[String(keys.orderBy) as OrderName]]
    : [...best, ORDERS.modificationDateDesc];
  const size = Number(keys.pageSize ?? 100);
  const page = { offset: (Number(keys.page ?? 1) - 1) * size, size };
  const visible = seen.map(documentOf).filter(({ fields }) => {
    return kind === 'advertiser' || (fields['tdCategoryId'] as readonly string[]).length > 0;
  });
  const oracle = oracleOf(visible);
  if (!isAsked('groupOffersByProduct')) {
    const { total, ids } = oracle.search({ filter, order, ...page });
    return { total, ids: ids.map((id) => [id]) };
  }
  const groups: readonly GroupOrder[] = order.map((one) => ({
    ...one,
    by: 'field' in one && one.field === 'price' ? 'least' : 'greatest',
  }));
  const within = [{ field: 'price' }];
  return oracle.searchGroups({ filter, groupBy: 'ean', within, order: groups, members: 100, ...page });
}

interface StoredTransaction {
  readonly messageTypeId: number;
  readonly transaction: Readonly<
    Record<'advertiserId' | 'publisherId' | 'programId' | 'orderValue', number>
  > & {
    readonly currencyId: string;
  };
}

/** Of a program, if that is asked for, a currency and a state: how many, and the sum of their order values (hundredths). */
type Total = readonly [of: string, count: number, orderValue: number];

export const totalTransactions: Command<
  { readonly caller: Asker; readonly programId: number | undefined; readonly isByProgram: boolean },
  { readonly found: readonly Total[]; readonly expected: readonly Total[] }
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
    const own = ((rendering.store as MemoryStore).seen.get(signal) ?? []).flatMap(({ id, body }) => {
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
    return { found, expected };
  },
};
