import {
  type Answered,
  type Changes,
  type Keys,
  PAGE,
  type Posted,
  type Rest,
  type Schemas,
} from './rest.js';

export type Voucher = Schemas['Voucher'];
export type PostedVoucher = Schemas['PostedVoucher'];
export type Transaction = Schemas['Transaction'];
export type Claim = Schemas['Claim'];
type TransactionResult = Schemas['TransactionResult'];

export class Vouchers {
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

export class Transactions {
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

export class Claims {
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
