import { type components, type operations } from './openapi.js';
import {
  AffilogError,
  type AffilogOptions,
  type ListedError,
  type Query,
  type Sent,
  Transport,
} from './transport.js';

type Schemas = components['schemas'];
export type Product = Schemas['Product'];
export type PostedProduct = Schemas['PostedProduct'];
export type Feed = Schemas['FeedList']['feeds'][number];
export type Voucher = Schemas['Voucher'];
export type PostedVoucher = Schemas['PostedVoucher'];
export type Transaction = Schemas['Transaction'];
export type Claim = Schemas['Claim'];
export type Subscription = Schemas['Subscription'];
export type ClaimSubscription = Schemas['ClaimSubscription'];
type TransactionResult = Schemas['TransactionResult'];
type Delivery = Schemas['Delivery'];

type Id = keyof operations;

/** What a client decides: the pages of a list, and how an answer is written. */
type Presentation =
  | 'cursor'
  | 'dateOutputFormat'
  | 'format'
  | 'jsonp'
  | 'limit'
  | 'offset'
  | 'page'
  | 'pageSize'
  | 'pretty'
  | 'since'
  | 'tdconnect';

/** The keys of an operation. */
type Keys<Of extends Id> = Omit<NonNullable<operations[Of]['parameters']['query']>, Presentation>;

type Posted<Of extends Id> = operations[Of] extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Body
  : never;

type Answered<Of extends Id> = operations[Of] extends {
  readonly responses: { readonly 200: { readonly content: { readonly 'application/json': infer Body } } };
}
  ? Body
  : never;

/** Each attribute of a message: its body has those that `receiverBody` names. */
export type TransactionMessage = Posted<'transactionMessage'>;
export type ClaimMessage = Posted<'claimMessage'>;
export type VoucherMessage = Posted<'voucherMessage'>;

/** What a copy of a list lacks: first empty it if `reset`, then remove what is `removed`, then store what is `changed`. */
export interface Changes<Item> {
  readonly reset: boolean;
  readonly removed: readonly string[];
  readonly changed: readonly Item[];
  /** To be stored with the copy: the next call begins there. */
  readonly since: string;
}

/** What a load of products has done. */
export interface Load {
  /** Its id in the load report; absent if nothing was stored. */
  readonly loadId: string | undefined;
  /** `new`, `revised`, `repriced`, `unchanged`, `removed`, `refused`, `unmapped`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Why products were refused; the others are stored. */
  readonly errors: readonly ListedError[];
}

/** A network: each service by its name. Errors are raised as `AffilogError`. */
export class Affilog {
  readonly products: Products;
  readonly vouchers: Vouchers;
  readonly transactions: Transactions;
  readonly claims: Claims;
  /** To messages about transactions. */
  readonly subscriptions: Subscriptions<Subscription, Schemas['PostedSubscription']>;
  /** To messages about claims. */
  readonly claimSubscriptions: Subscriptions<ClaimSubscription, Schemas['PostedClaimSubscription']>;

  /** To messages about vouchers. */
  readonly voucherSubscriptions: Subscriptions<
    Schemas['VoucherSubscription'],
    Schemas['PostedVoucherSubscription']
  >;

  constructor(options: AffilogOptions) {
    const transport = new Transport(options);
    const vouchers = new Rest(transport, 'VOUCHERS');
    const conversions = new Rest(transport, 'CONVERSIONS');
    const claims = new Rest(transport, 'CLAIMS');
    this.products = new Products(new Rest(transport, 'PRODUCTS'));
    this.vouchers = new Vouchers(vouchers);
    this.transactions = new Transactions(conversions);
    this.claims = new Claims(claims);
    this.subscriptions = new Subscriptions(conversions, '/1.0/conversions/subscriptions');
    this.claimSubscriptions = new Subscriptions(claims, '/1.0/claims/subscriptions');
    this.voucherSubscriptions = new Subscriptions(vouchers, '/1.0/vouchers/subscriptions');
  }
}

/** Most items of a page. */
const PAGE = 1000;

/** Requests with the token of a system. */
class Rest {
  constructor(
    private readonly transport: Transport,
    private readonly system: Sent['system'],
  ) {}

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return await jsonOf<Answer>(await this.send('GET', path, { query }));
  }

  async post<Answer>(path: string, body?: unknown): Promise<Answer> {
    return await jsonOf<Answer>(await this.send('POST', path, { body }));
  }

  async send(
    method: Sent['method'],
    path: string,
    more: Omit<Sent, 'method' | 'path' | 'system'> = {},
  ): Promise<Response> {
    return await this.transport.send({ system: this.system, method, path, ...more });
  }

  /** All items of a list whose pages are found by number. */
  async *pages<Item>(path: string, queryOf: (page: number) => Query): AsyncGenerator<Item, void, void> {
    for (let page = 0, found = PAGE; found === PAGE; page += 1) {
      const items = await this.get<readonly Item[]>(path, queryOf(page));
      yield* items;
      found = items.length;
    }
  }

  /** All items of a list whose pages are found by cursor. */
  async *byCursor<Item>(path: string, query: Query): AsyncGenerator<Item, void, void> {
    for (let cursor: string | null = '*'; cursor !== null;) {
      const answer = await this.send('GET', path, { query: { ...query, pageSize: PAGE, cursor } });
      yield* await jsonOf<readonly Item[]>(answer);
      cursor = answer.headers.get('X-Next-Cursor');
    }
  }

  /** Changes since then, until there are none at present. `hasMore`: whether there may be more behind some. */
  async *changes<Item>(
    path: string,
    query: Query,
    since: string,
    hasMore: (answer: Response, changed: readonly unknown[]) => boolean = ({ headers }) =>
      headers.get('X-Has-More') === 'true',
  ): AsyncGenerator<Changes<Item>, void, void> {
    for (let next = since, more = true; more;) {
      const answer = await this.send('GET', path, { query: { ...query, since: next } });
      const { headers } = answer;
      const changed = await jsonOf<readonly Item[]>(answer);
      const removed = (headers.get('X-Removed') ?? '').split(',').filter((id) => id !== '');
      next = headers.get('X-Next-Since') ?? next;
      more = hasMore(answer, changed);
      yield { reset: headers.get('X-Since-Reset') === 'true', removed, changed, since: next };
    }
  }
}

async function jsonOf<Answer>(answer: Response): Promise<Answer> {
  return (await answer.json()) as Answer;
}

/** Feeds and their products. */
class Products {
  constructor(private readonly rest: Rest) {}

  /** All products that match, however many. */
  async *search(keys: Keys<'searchProducts'>): AsyncGenerator<Product, void, void> {
    for (let cursor: string | undefined = '*'; cursor !== undefined;) {
      const page: Answered<'searchProducts'> = await this.searchPage({ ...keys, cursor, pageSize: PAGE });
      yield* page.products;
      cursor = page.productHeader.nextCursor;
    }
  }

  /** One page, with the number of all, facets and suggestions. */
  async searchPage(
    keys: NonNullable<operations['searchProducts']['parameters']['query']>,
  ): Promise<Answered<'searchProducts'>> {
    return await this.rest.get('/1.0/products', keys);
  }

  /**
   * Adds and updates products of a feed, or replaces all. What is no array is sent as it comes, in constant memory, and
   * not repeated.
   */
  async load(
    feedId: number,
    products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
    keys: Omit<Keys<'loadProducts'>, 'fid'> = {},
  ): Promise<Load> {
    const body = Array.isArray(products) ? { body: { products } } : { stream: streamOf(products) };
    const query = { ...keys, fid: feedId };
    return await loadOf(this.rest.send('POST', '/1.0/products', { query, isIdempotent: true, ...body }));
  }

  /** Removes products from a feed. */
  async delete(feedId: number, sourceProductIds: readonly string[]): Promise<Load> {
    const query = { fid: feedId, spId: sourceProductIds };
    return await loadOf(this.rest.send('DELETE', '/1.0/products', { query }));
  }

  /** A feed, or with `since` what has changed in it since an earlier answer. */
  async download(
    feedId: number,
    since?: string,
  ): Promise<Answered<'downloadFeed'> & { readonly since: string | undefined }> {
    const answer = await this.rest.send('GET', '/1.0/productsUnlimited', { query: { fid: feedId, since } });
    const content = await jsonOf<Answered<'downloadFeed'>>(answer);
    return { ...content, since: answer.headers.get('X-Next-Since') ?? undefined };
  }

  /** The feeds that the token is connected to. */
  async feeds(): Promise<readonly Feed[]> {
    const { feeds } = await this.rest.get<Answered<'listFeeds'>>('/1.0/productFeeds');
    return feeds;
  }

  /** The category trees, with names in a language. */
  async categories(language?: string): Promise<Answered<'getCategoryTree'>> {
    return await this.rest.get('/1.0/productCategories', { language });
  }
}

/** A load that has refused some products is no failure: the others are stored. */
async function loadOf(answer: Promise<Response>): Promise<Load> {
  try {
    return { ...loadIn((await answer).headers), errors: [] };
  } catch (error) {
    if (!(error instanceof AffilogError) || !error.headers.has('X-Load-Counts')) throw error;
    return { ...loadIn(error.headers), errors: error.errors };
  }
}

function loadIn(headers: Headers): Omit<Load, 'errors'> {
  const counts = [...(headers.get('X-Load-Counts') ?? '').matchAll(/(\w+)=(\d+)/g)];
  return {
    loadId: headers.get('X-Load-Id') ?? undefined,
    counts: Object.fromEntries(counts.map(([, name = '', count]) => [name, Number(count)])),
  };
}

/** `{"products":[…]}`, in parts. */
function streamOf(
  products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
): ReadableStream<Uint8Array> {
  const pieces = piecesOf(products);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const piece = await pieces.next();
      if (piece.done === true) controller.close();
      else controller.enqueue(encoder.encode(piece.value));
    },
    async cancel() {
      await pieces.return();
    },
  });
}

/** Characters of a part, at least. */
const PIECE = 64 * 1024;

async function* piecesOf(
  products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
): AsyncGenerator<string, void, void> {
  let piece = '{"products":[';
  let separator = '';
  for await (const product of products) {
    piece += separator + JSON.stringify(product);
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}

class Vouchers {
  constructor(private readonly rest: Rest) {}

  /** All vouchers that match, newest first. */
  list(keys: Keys<'listVouchers'> = {}): AsyncGenerator<Voucher, void, void> {
    return this.rest.pages('/1.0/vouchers', (page) => ({ ...keys, page, pageSize: PAGE }));
  }

  /** What a copy lacks since an earlier call; by default everything. Ends when there is nothing more at present. */
  follow(since = '*', keys: Keys<'listVouchers'> = {}): AsyncGenerator<Changes<Voucher>, void, void> {
    return this.rest.changes('/1.0/vouchers', keys, since);
  }

  /** Creates a voucher, or edits the one with its `sourceId`: the id. */
  async post(voucher: PostedVoucher): Promise<number> {
    const [id] = await this.rest.post<readonly [number]>('/1.0/vouchers', voucher);
    return id;
  }

  /** The same of up to 1,000 vouchers: an id, or errors, of each in order. */
  async postAll(vouchers: readonly PostedVoucher[]): Promise<Answered<'postVouchers'>> {
    return await this.rest.post('/1.0/vouchers/bulk', vouchers);
  }

  async delete(id: number): Promise<void> {
    await this.rest.send('DELETE', `/1.0/vouchers/${id}`);
  }
}

const TRANSACTIONS = '/1.0/conversions/transactions';

class Transactions {
  constructor(private readonly rest: Rest) {}

  /** All transactions that match, newest first. */
  list(keys: Keys<'listTransactions'> = {}): AsyncGenerator<Transaction, void, void> {
    return this.rest.byCursor(TRANSACTIONS, keys);
  }

  /** What has changed since an earlier call; by default everything. Ends when there is nothing more at present. */
  follow(
    since = '*',
    keys: Omit<Keys<'listTransactions'>, 'orderBy' | 'sortOrder'> = {},
  ): AsyncGenerator<Changes<Transaction>, void, void> {
    return this.rest.changes(TRANSACTIONS, keys, since, (_, changed) => changed.length > 0);
  }

  /** A transaction by its id, or its legacy id. */
  async get(id: string): Promise<Transaction> {
    return await this.rest.get(`${TRANSACTIONS}/${encodeURIComponent(id)}`);
  }

  /** The transaction after each of its transitions, oldest first. */
  async history(id: string): Promise<readonly Transaction[]> {
    return await this.rest.get(`${TRANSACTIONS}/${encodeURIComponent(id)}/transitions`);
  }

  async totals(keys: Keys<'totalTransactions'> = {}): Promise<Answered<'totalTransactions'>> {
    return await this.rest.get(`${TRANSACTIONS}/totals`, keys);
  }

  /** Reports a sale or lead. */
  async report(transaction: Posted<'reportTransaction'>): Promise<TransactionResult> {
    return await this.rest.post(TRANSACTIONS, transaction);
  }

  /** The same of up to 10,000: a result of each in order. */
  async reportAll(
    transactions: readonly Posted<'reportTransaction'>[],
  ): Promise<readonly TransactionResult[]> {
    return await this.rest.post(`${TRANSACTIONS}/bulk`, transactions);
  }

  /** Approves, denies, deletes, amends or pays a transaction. */
  async move(transition: Posted<'moveTransaction'>): Promise<TransactionResult> {
    return await this.rest.post(`${TRANSACTIONS}/transitions`, transition);
  }

  /** The same of up to 10,000: a result of each in order. */
  async moveAll(transitions: readonly Posted<'moveTransaction'>[]): Promise<readonly TransactionResult[]> {
    return await this.rest.post(`${TRANSACTIONS}/transitions/bulk`, transitions);
  }
}

class Claims {
  constructor(private readonly rest: Rest) {}

  /** All claims that match, by default the newest first. */
  list(keys: Keys<'listClaims'> = {}): AsyncGenerator<Claim, void, void> {
    const rows = (page: number) => ({ tdconnect: true, offset: page * PAGE, limit: PAGE });
    return this.rest.pages('/1.0/claims', (page) => ({ ...keys, ...rows(page) }));
  }

  /** What a copy lacks since an earlier call; by default everything. Ends when there is nothing more at present. */
  follow(
    since = '*',
    keys: Omit<Keys<'listClaims'>, 'sortBy' | 'sortOrder'> = {},
  ): AsyncGenerator<Changes<Claim>, void, void> {
    return this.rest.changes('/1.0/claims', keys, since);
  }

  /** Files claims: all of them, or none. */
  async file(claims: Posted<'createClaims'>['claims']): Promise<void> {
    await this.rest.send('POST', '/1.0/claims', { body: { claims } });
  }

  /** The status that each claim would have. */
  async check(claims: Posted<'checkClaims'>['claims']): Promise<Answered<'checkClaims'>> {
    return await this.rest.post('/1.0/claims/check', { claims });
  }

  /** Rules on claims as an advertiser, or corrects them as a publisher. */
  async update(claimUpdates: Posted<'updateClaims'>['claimUpdates']): Promise<void> {
    await this.rest.send('POST', '/1.0/claimUpdates', { body: { claimUpdates } });
  }

  async delete(claimId: number, versionNo: number): Promise<void> {
    await this.rest.send('DELETE', `/1.0/claims/${claimId}`, { query: { versionNo } });
  }

  /** The claim after each change, oldest first. */
  async versions(claimId: number): Promise<Answered<'listClaimVersions'>> {
    return await this.rest.get(`/1.0/claims/${claimId}/versions`);
  }

  async statuses(): Promise<Answered<'listClaimStatuses'>> {
    return await this.rest.get('/1.0/claimStatuses');
  }
}

/** Messages about changes, sent to receivers. */
class Subscriptions<Listed, PostedOne> {
  constructor(
    private readonly rest: Rest,
    private readonly path: string,
  ) {}

  async list(): Promise<readonly Listed[]> {
    return await this.rest.get(this.path);
  }

  async get(id: string): Promise<Listed> {
    return await this.rest.get(`${this.path}/${id}`);
  }

  async create(subscription: PostedOne): Promise<Listed> {
    return await this.rest.post(this.path, subscription);
  }

  /** Replaces all settings: send every field. */
  async replace(id: string, subscription: PostedOne): Promise<Listed> {
    return await jsonOf(await this.rest.send('PUT', `${this.path}/${id}`, { body: subscription }));
  }

  async delete(id: string): Promise<void> {
    await this.rest.send('DELETE', `${this.path}/${id}`);
  }

  /** The secret that `verifyWebhook` takes. */
  async secret(id: string): Promise<string> {
    const { secret } = await this.rest.get<Schemas['SubscriptionSecret']>(`${this.path}/${id}/secret`);
    return secret;
  }

  /** Sends a message with example values to a receiver at once. */
  async test(id: string, receiverId: string): Promise<Schemas['ReceiverTestOutcome']> {
    return await this.rest.post(`${this.path}/${id}/receivers/${receiverId}/test`);
  }

  /** Its messages, with the state of each. */
  deliveries(
    id: string,
    keys: Keys<'listSubscriptionDeliveries'> = {},
  ): AsyncGenerator<Delivery, void, void> {
    return this.rest.byCursor(`${this.path}/${id}/deliveries`, keys);
  }
}
