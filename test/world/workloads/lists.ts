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
import { listKeys as transactionKeys } from '../../../src/services/transactions/api';
import { TransactionQueries } from '../../../src/services/transactions/transaction.queries';
import { listKeys as voucherKeys, VoucherQueries } from '../../../src/services/vouchers/voucher.queries';
import { type KeyTable, readKeys } from '../../../src/wire/keys/keys';
import { parseRequestTarget } from '../../../src/wire/keys/request-target';
import { type Clients, type Command } from '../clients';
import { type ApiParts, type Disks } from '../host';
import { type Asker, CALLERS, type Feed, FEEDS, feedsOf } from './network-file';
import { SUBSCRIBED_TOPICS, type SubscribedTopic, subscriptionParts } from './subscriptions';

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

/** What a list shows, by what it is about. */
export type Shown = readonly (readonly [id: string, shows: string])[];

export const keysOf = <const Table extends KeyTable>(table: Table, keys: string) =>
  readKeys(table, parseRequestTarget(`/1.0/any;${keys}`), productService.keyFaults);

/** A part of a list: what it shows, the cursor of the next part, and the headers of its answer. */
interface Part {
  readonly shown: Shown;
  readonly next: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads a list, or the part of it that keys select. */
type ReadPart = (queries: Queries, caller: ReturnType<typeof callerOf>, keys: string) => Promise<Part>;
/** Reads all of a list. */
type ReadList = (queries: Queries, caller: ReturnType<typeof callerOf>) => Promise<Shown>;

async function partOf<Item>(
  list: Promise<Pick<FoundList<Item>, 'items' | 'nextCursor' | 'headers'>>,
  show: (item: Item) => Shown[number],
): Promise<Part> {
  const { items, nextCursor, headers = {} } = await list;
  const shown: Shown[number][] = [];
  for await (const batch of items) for (const item of batch) shown.push(show(item));
  return { shown, next: nextCursor, headers };
}

function showProduct({
  brand,
  categories,
  offers: [offer],
}: Pick<OutputProduct, 'brand' | 'categories' | 'offers'>) {
  const { feedId, sourceProductId, price } = offer!;
  const amount = typeof price === 'object' ? price.minor : Math.round(Number(price) * 100);
  return [`${feedId} ${sourceProductId}`, [amount, brand, categories[0]?.id].join()] as const;
}

const vouchersOf: ReadPart = ({ vouchers, clock }, caller, keys) =>
  partOf(vouchers.list(keysOf(voucherKeys, keys), caller, clock.now()), ({ id, title }) => [
    String(id),
    title,
  ]);
const transactionsOf: ReadPart = ({ transactions }, caller, keys) =>
  partOf(transactions.list(keysOf(transactionKeys, keys), caller), (one) => [
    [one.programId, one.eventId, one.orderNumber].join(),
    [one.messageTypeId, one.orderValue].join(),
  ]);
const claimsOf: ReadPart = ({ claims }, caller, keys) =>
  partOf(claims.list(keysOf(claimKeys, keys), caller), ({ claimId, statusId }) => [
    String(claimId),
    String(statusId),
  ]);
const productsOf: ReadPart = ({ products }, caller, keys) => {
  const found = products.search(keysOf(searchKeys, `fid=${idsOf(caller)}${keys && `;${keys}`}`), caller);
  return partOf(
    found.then(({ products: items, ...others }) => ({ ...others, items })),
    showProduct,
  );
};
const subscriptionsOf =
  (topic: SubscribedTopic): ReadPart =>
  ({ subscriptions }, caller) =>
    partOf(
      subscriptions.list(TOPICS[topic], caller).then((items) => ({ items })),
      ({ subscriptionId, receivers }) => [
        subscriptionId,
        receivers.map(({ receiverUrl, disabled }) => `${receiverUrl} ${disabled}`).join(),
      ],
    );
const deliveriesOf =
  (which: Which): ReadPart =>
  ({ deliveries }, _, keys) =>
    partOf(deliveries.list(which, keysOf(deliveryKeys, keys)), ({ messageId, state }) => [messageId, state]);

const whole =
  (read: ReadPart, keys = ''): ReadList =>
  async (queries, caller) =>
    (await read(queries, caller, keys)).shown;

/** Results of a page that is followed by a cursor. */
const PAGE = 3;

const byCursor =
  (read: ReadPart): ReadList =>
  async (queries, caller) => {
    const all: Shown[number][] = [];
    for (let cursor: string | undefined = '*'; cursor !== undefined;) {
      const keys: string = `pageSize=${PAGE};cursor=${encodeURIComponent(cursor)}`;
      const { shown, next }: Part = await read(queries, caller, keys);
      all.push(...shown);
      cursor = next;
    }
    return all;
  };

/** What lists of each subscription of a caller show. */
const ofSubscriptions =
  (list: (which: Which) => ReadList): ReadList =>
  async (queries, caller) => {
    const shown: Shown[number][] = [];
    for (const topic of SUBSCRIBED_TOPICS)
      for (const [id] of await whole(subscriptionsOf(topic))(queries, caller))
        shown.push(...(await list({ topic: TOPICS[topic], id, caller })(queries, caller)));
    return shown;
  };

/** All lists, each with everything that a caller may see. */
const LISTS = {
  vouchers: whole(vouchersOf),
  transactions: whole(transactionsOf),
  'transactions by cursor': byCursor(transactionsOf),
  claims: whole(claimsOf),
  'claims by name': whole(claimsOf, 'sortBy=programName'),
  subscriptions: async (queries, caller) => {
    const all: Shown[number][] = [];
    for (const topic of SUBSCRIBED_TOPICS)
      all.push(...(await whole(subscriptionsOf(topic))(queries, caller)));
    return all;
  },
  products: whole(productsOf),
  'products by cursor': byCursor(productsOf),
  deliveries: ofSubscriptions((which) => whole(deliveriesOf(which))),
  'deliveries by cursor': ofSubscriptions((which) => byCursor(deliveriesOf(which))),
  receivers: ofSubscriptions((which) => async ({ deliveries }) => {
    const receivers = await deliveries.receivers(which);
    return receivers.map(({ receiverId, attempts, failed, delivered, dead }) => [
      receiverId,
      [attempts, failed, delivered, dead].join(),
    ]);
  }),
} satisfies Readonly<Record<string, ReadList>>;

/** The feeds that an asker sees, as a key. */
export const idsOf = (asker: Asker): string =>
  feedsOf(asker)
    .map(({ id }) => id)
    .join();

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

/** Lists of which clients keep copies, and the key for the size of a part. */
const FOLLOWED_LISTS = {
  transactions: { read: transactionsOf, size: 'pageSize' },
  vouchers: { read: vouchersOf, size: 'pageSize' },
  claims: { read: claimsOf, size: 'limit' },
} as const satisfies Readonly<Record<string, { readonly read: ReadPart; readonly size: string }>>;

/** A copy is brought up to date: `after` is the number of the answer that it stands at, of the same command. */
export interface Follow {
  /** A list, or the feed that is downloaded. */
  readonly of: keyof typeof FOLLOWED_LISTS | Feed['id'];
  readonly caller: Asker;
  readonly after: number | undefined;
  /** The last `X-Next-Since`. */
  readonly since: string | undefined;
}

export interface Followed {
  readonly parts: readonly {
    /** The copy is emptied first. */
    readonly isReset: boolean;
    readonly shown: Shown;
    readonly removed: readonly string[];
  }[];
  readonly next: string;
}

export const follow: Command<Follow, Followed> = {
  name: 'follow',
  weight: 6,
  draw: (random, clients) => {
    const of = random.pick(FOLLOWED);
    return copyOf(of, random.pick(followersOf(of)), clients);
  },
  run: (api, { of, caller, since }) =>
    typeof of === 'number'
      ? download(api.of(queries), of, callerOf(caller), since)
      : followList(api.of(queries), of, callerOf(caller), since ?? '*'),
};

const FOLLOWED: readonly Follow['of'][] = [
  ...(['transactions', 'vouchers', 'claims'] as const),
  ...FEEDS.map(({ id }) => id),
];
const followersOf = (of: Follow['of']): readonly Asker[] =>
  typeof of === 'number' ? CALLERS.filter((one) => feedsOf(one).some(({ id }) => id === of)) : askersOf(of);

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
async function followList(
  all: Queries,
  of: keyof typeof FOLLOWED_LISTS,
  caller: ReturnType<typeof callerOf>,
  since: string,
): Promise<Followed> {
  const { read, size } = FOLLOWED_LISTS[of];
  const parts: Followed['parts'][number][] = [];
  for (let next = since; ;) {
    const { shown, headers } = await read(all, caller, `${size}=${PAGE};since=${next}`);
    next = headers['X-Next-Since'] ?? '';
    const removed = headers['X-Removed']?.split(',') ?? [];
    parts.push({ shown, removed, isReset: headers['X-Since-Reset'] === 'true' });
    const isOver = shown.length + removed.length === 0 && headers['X-Has-More'] !== 'true';
    if (isOver) return { parts, next };
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
  const part = { shown: products.map(showProduct), removed: removed.map((id) => `${feedId} ${id}`) };
  return { parts: [{ isReset: false, ...part }], next: plan.next };
}
