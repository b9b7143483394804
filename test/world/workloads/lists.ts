import { TOPICS } from '../../../src/domain/topics';
import { type FoundList } from '../../../src/http/answer';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { type Position, START } from '../../../src/kernel/event';
import { ClaimQueries, listKeys as claimKeys } from '../../../src/services/claims/claim.queries';
import { renderedBlocks } from '../../../src/services/products/download/exporter';
import { type Since } from '../../../src/services/products/download/joined-facts';
import { DownloadPlans } from '../../../src/services/products/download/plan';
import { CountedFeeds, FeedQueries, FeedStates } from '../../../src/services/products/feed.queries';
import { downloadKeys, searchKeys } from '../../../src/services/products/keys';
import { type OutputProduct } from '../../../src/services/products/output';
import { ProductQueries } from '../../../src/services/products/product.queries';
import { productService } from '../../../src/services/products/products.controller';
import { deliveryKeys } from '../../../src/services/subscriptions/deliveries.fields';
import { DeliveryQueries } from '../../../src/services/subscriptions/deliveries.queries';
import { SubscriptionQueries, type Which } from '../../../src/services/subscriptions/subscription.queries';
import { listKeys as transactionKeys } from '../../../src/services/transactions/keys';
import { TransactionQueries } from '../../../src/services/transactions/transaction.queries';
import { listKeys as voucherKeys, VoucherQueries } from '../../../src/services/vouchers/voucher.queries';
import { type KeyTable, readKeys } from '../../../src/wire/keys/keys';
import { parseRequestTarget } from '../../../src/wire/keys/request-target';
import { type Clients, type Command } from '../clients';
import { type ApiParts, type Disks } from '../host';
import { CALLERS, FEEDS } from './network-file';
import { subscriptionParts } from './subscriptions';

const SETTINGS = {
  vendor: 'affilog',
  trackerUrl: 'https://t.example',
  clickUrl: 'https://c.example',
  priceHistory: 'asked',
  searchAllFeeds: false,
  downloadRate: 0,
} as const;

export const queries = (parts: ApiParts) => {
  const { clock, engines, follower, readModels } = parts;
  const { log, store } = engines;
  const states = new FeedStates(clock, store, follower);
  return {
    readModels,
    clock,
    transactions: new TransactionQueries(store, log, follower),
    vouchers: new VoucherQueries(store, log, follower, SETTINGS),
    claims: new ClaimQueries(store, log, follower, clock),
    subscriptions: new SubscriptionQueries(store, log, subscriptionParts(parts)),
    deliveries: new DeliveryQueries(store, log, subscriptionParts(parts), clock),
    products: new ProductQueries(store, follower, SETTINGS),
    feeds: new FeedQueries(new CountedFeeds(store, states, follower), follower, log, store, readModels),
    plans: new DownloadPlans(log, store, follower, states),
    rendering: { clock, store, follower },
  };
};
type Queries = ReturnType<typeof queries>;

export type Asker = (typeof CALLERS)[number];
/** What a list shows, by what it is about. */
export type Shown = readonly (readonly [id: string, shows: string])[];

export const keysOf = <const Table extends KeyTable>(table: Table, keys: string) =>
  readKeys(table, parseRequestTarget(`/1.0/any;${keys}`), productService.keyFaults);

async function shownIn<Item>(
  { items }: Pick<FoundList<Item>, 'items'>,
  show: (item: Item) => Shown[number],
): Promise<Shown> {
  const shown: Shown[number][] = [];
  for await (const batch of items) for (const item of batch) shown.push(show(item));
  return shown;
}

const showTransaction = (one: Awaited<ReturnType<TransactionQueries['one']>>): Shown[number] => [
  [one.programId, one.eventId, one.orderNumber].join(),
  [one.messageTypeId, one.orderValue].join(),
];

function showProduct({
  brand,
  categories,
  offers: [offer],
}: Pick<OutputProduct, 'brand' | 'categories' | 'offers'>) {
  const { feedId, sourceProductId, price } = offer!;
  const amount = typeof price === 'object' ? price.minor : Math.round(Number(price) * 100);
  return [`${feedId} ${sourceProductId}`, [amount, brand, categories[0]?.id].join()] as const;
}

/** Pages of so many are followed by a cursor. */
const PAGE = 3;

async function byCursor(
  page: (cursor: string) => Promise<{ readonly shown: Shown; readonly next?: string | undefined }>,
) {
  const all: Shown[number][] = [];
  for (let cursor: string | undefined = '*'; cursor !== undefined;) {
    const { shown, next }: Awaited<ReturnType<typeof page>> = await page(encodeURIComponent(cursor));
    all.push(...shown);
    cursor = next;
  }
  return all;
}

const shownClaims = (found: Awaited<ReturnType<ClaimQueries['list']>>) =>
  shownIn(found, ({ claimId, statusId }) => [String(claimId), String(statusId)]);

/** What lists of each subscription of a caller show. */
async function ofSubscriptions(
  { subscriptions }: Queries,
  caller: ReturnType<typeof callerOf>,
  list: (which: Which) => Promise<Shown>,
): Promise<Shown> {
  const topic = TOPICS.transactions;
  const shown: Shown[number][] = [];
  const own = await shownIn({ items: await subscriptions.list(topic, caller) }, (one) => [
    one.subscriptionId,
    '',
  ]);
  for (const [id] of own) shown.push(...(await list({ topic, id, caller })));
  return shown;
}

/** All lists, each with everything that a caller may see. */
const LISTS = {
  vouchers: ({ vouchers, clock }, caller) =>
    vouchers
      .list(keysOf(voucherKeys, ''), caller, clock.now())
      .then((found) => shownIn(found, ({ id, title }) => [String(id), title])),
  transactions: ({ transactions }, caller) =>
    transactions.list(keysOf(transactionKeys, ''), caller).then((found) => shownIn(found, showTransaction)),
  'transactions by cursor': ({ transactions }, caller) =>
    byCursor(async (cursor) => {
      const found = await transactions.list(
        keysOf(transactionKeys, `pageSize=${PAGE};cursor=${cursor}`),
        caller,
      );
      return { shown: await shownIn(found, showTransaction), next: found.nextCursor };
    }),
  claims: ({ claims }, caller) => claims.list(keysOf(claimKeys, ''), caller).then(shownClaims),
  'claims by name': ({ claims }, caller) =>
    claims.list(keysOf(claimKeys, 'sortBy=programName'), caller).then(shownClaims),
  subscriptions: async ({ subscriptions }, caller) =>
    shownIn({ items: await subscriptions.list(TOPICS.transactions, caller) }, (one) => [
      one.subscriptionId,
      one.receivers.map(({ receiverUrl, disabled }) => `${receiverUrl} ${disabled}`).join(),
    ]),
  products: async ({ products }, caller) =>
    shownIn(
      { items: (await products.search(keysOf(searchKeys, `fid=${feedsOf(caller)}`), caller)).products },
      showProduct,
    ),
  'products by cursor': ({ products }, caller) =>
    byCursor(async (cursor) => {
      const keys = keysOf(searchKeys, `fid=${feedsOf(caller)};pageSize=${PAGE};cursor=${cursor}`);
      const { products: items, nextCursor } = await products.search(keys, caller);
      return { shown: await shownIn({ items }, showProduct), next: nextCursor };
    }),
  deliveries: (all, caller) =>
    ofSubscriptions(all, caller, async (which) => {
      const found = await all.deliveries.list(which, keysOf(deliveryKeys, ''));
      return await shownIn(found, ({ messageId, state }) => [messageId, state]);
    }),
  'deliveries by cursor': (all, caller) =>
    ofSubscriptions(all, caller, (which) =>
      byCursor(async (cursor) => {
        const keys = keysOf(deliveryKeys, `pageSize=${PAGE};cursor=${cursor}`);
        const found = await all.deliveries.list(which, keys);
        const shown = await shownIn(found, ({ messageId, state }) => [messageId, state]);
        return { shown, next: found.nextCursor };
      }),
    ),
  receivers: (all, caller) =>
    ofSubscriptions(all, caller, async (which) =>
      (await all.deliveries.receivers(which)).map(({ receiverId, attempts, failed, delivered, dead }) => [
        receiverId,
        [attempts, failed, delivered, dead].join(),
      ]),
    ),
} satisfies Readonly<
  Record<string, (queries: Queries, caller: ReturnType<typeof callerOf>) => Promise<Shown>>
>;

export function feedsOf({ kind, organisationId }: Asker): string {
  return FEEDS.filter((feed) => kind === 'publisher' || feed.organisationId === organisationId)
    .map(({ id }) => id)
    .join();
}

export const callerOf = (asker: Asker) => ({ ...asker, system: 'PRODUCTS', tokenHash: '' }) as const;

type ListName = keyof typeof LISTS;

/** Lists of what is in the delivery log, for which no position can be asked for. */
const isOfDeliveries = (list: ListName): boolean => /^(deliveries|receivers)/.test(list);

/** `from`: the position that the answer has to include, as `X-Min-Position`. */
interface Question {
  readonly list: ListName;
  readonly caller: Asker;
  readonly from: Position;
}

const NAMES = Object.keys(LISTS) as readonly ListName[];
/** Publishers see vouchers by the time, and products by how they are mapped. */
const askersOf = (list: ListName): readonly Asker[] =>
  CALLERS.filter(({ kind }) => kind === 'advertiser' || list !== 'vouchers');

export const askList: Command<Question, Shown> = {
  name: 'list',
  weight: 8,
  draw: (random, clients) => {
    const list = random.pick(NAMES);
    const from = random.chance(0.8) && !isOfDeliveries(list) ? newest(clients) : START;
    return { list, caller: random.pick(askersOf(list)), from };
  },
  run: async (api, { list, caller, from }) => {
    const all = api.of(queries);
    if (!isOfDeliveries(list)) await reach(all, from);
    return await LISTS[list](all, callerOf(caller));
  },
};

/** All lists, as of the ends of both logs. */
export function allLists({ log, deliveries }: Disks): readonly Question[] {
  return NAMES.flatMap((list) => {
    const from = isOfDeliveries(list) ? deliveries.head : log.head;
    return askersOf(list).map((caller) => ({ list, caller, from }));
  });
}

/** The newest position that any client knows. */
function newest(clients: Clients): Position {
  let last = START;
  for (const { answer } of clients.sent) {
    if (answer.is !== 'done' || typeof answer.result !== 'object') continue;
    const { position } = (answer.result ?? {}) as { readonly position?: Position };
    if (position !== undefined && position > last) last = position;
  }
  return last;
}

/** `docs/decisions.md#a7`. */
async function reach({ readModels }: Queries, from: Position): Promise<void> {
  if (!(await readModels.until(from, 2_000))) throw new EngineUnavailable(`${from} cannot be read yet`);
}

// Copies --------------------------------------------------------------------------------------------------------

/** A copy is brought up to date: `after` is the number of the answer that it stands at, of the same command. */
export interface Follow {
  readonly of: 'transactions' | (typeof FEEDS)[number]['id'];
  readonly caller: Asker;
  readonly after: number | undefined;
  /** The last `X-Next-Since`. */
  readonly since: string | undefined;
}

export interface Followed {
  readonly shown: Shown;
  readonly removed: readonly string[];
  readonly next: string;
}

export const follow: Command<Follow, Followed> = {
  name: 'follow',
  weight: 5,
  draw: (random, clients) => {
    const of = random.pick(FOLLOWED);
    return copyOf(of, random.pick(followersOf(of)), clients);
  },
  run: (api, { of, caller, since }) =>
    of === 'transactions'
      ? followTransactions(api.of(queries), callerOf(caller), since ?? '*')
      : download(api.of(queries), of, callerOf(caller), since),
};

const FOLLOWED = ['transactions', ...FEEDS.map(({ id }) => id)] as const;
const followersOf = (of: Follow['of']): readonly Asker[] =>
  CALLERS.filter((one) => of === 'transactions' || feedsOf(one).split(',').includes(String(of)));

/** The last answer to a caller, from which it continues; the beginning if there is none. */
function copyOf(of: Follow['of'], caller: Asker, clients: Clients): Follow {
  const sent = clients.of(follow);
  const after = sent.findLastIndex(
    ({ what, answer }) => what.of === of && what.caller === caller && answer.is === 'done',
  );
  const answer = sent[after]?.answer;
  if (answer?.is !== 'done') return { of, caller, after: undefined, since: undefined };
  return { of, caller, after, since: answer.result.next };
}

/** All copies that anybody has, or might have. */
export function copies(clients: Clients): readonly Follow[] {
  return FOLLOWED.flatMap((of) => followersOf(of).map((caller) => copyOf(of, caller, clients)));
}

/** Until nothing is left. */
async function followTransactions(
  { transactions }: Queries,
  caller: ReturnType<typeof callerOf>,
  since: string,
): Promise<Followed> {
  const all: Shown[number][] = [];
  for (let next = since; ;) {
    const found = await transactions.list(keysOf(transactionKeys, `pageSize=${PAGE};since=${next}`), caller);
    const shown = await shownIn(found, showTransaction);
    all.push(...shown);
    next = found.headers?.['X-Next-Since'] ?? '';
    if (shown.length === 0) return { shown: all, removed: [], next };
  }
}

async function download(
  { plans, rendering }: Queries,
  feedId: number,
  caller: ReturnType<typeof callerOf>,
  next: string | undefined,
): Promise<Followed> {
  const since: Since | undefined =
    next === undefined ? undefined : keysOf(downloadKeys, `fid=1;since=${next}`).since;
  const plan = await plans.of({
    ...{ feedId, caller, format: 'json', pretty: false, vendor: 'affilog', dates: 'epoch' },
    ...{ trackerUrl: SETTINGS.trackerUrl, sourceProductUrl: false, pastPrices: 'all', flatten: false },
    csv: { columns: 'of the type', separators: [',', ';', ':'], embrace: '"' },
    ...(since === undefined ? {} : { since }),
  });
  let text = '';
  for await (const { bytes } of renderedBlocks(rendering, plan.render)) text += Buffer.from(bytes).toString();
  const { products, removed = [] } = JSON.parse(text) as {
    readonly products: readonly OutputProduct[];
    readonly removed?: readonly string[];
  };
  return {
    shown: products.map(showProduct),
    removed: removed.map((id) => `${feedId} ${id}`),
    next: plan.next,
  };
}
