import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe';
import { TEXT } from '../../src/wire/keys/keys';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { type Response, TestApp } from '../support/app';
import {
  CATEGORY_KEYS,
  CREATE_KEYS,
  CSV_KEYS,
  DELETE_KEYS,
  DOWNLOAD_KEYS,
  FEED_KEYS,
  LAST_UPDATED_KEYS,
  MAPPING_KEYS,
  missingFrom,
  SEARCH_KEYS,
  VOUCHER_KEYS,
} from './document-tables';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { buildNow, goodKeys, holdSource, park, rebuildSome, tokenFor } from './asked-operations';
import {
  DELIVERY_EFFECTS,
  writeClaimDeliveries,
  writeDeliveries,
  writeProductDeliveries,
  writeVoucherDeliveries,
} from './delivery-key-effects';
import { CLAIM_EFFECTS, fileClaims } from './claim-key-effects';
import { CLAIM_NETWORK } from './claim-network';
import { CLAIM_KEYS, NOT_LEGACY_KEYS } from './claim-tables';
import { EFFECTS } from './key-effects';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { AS_OF_VIEWS, OPERATOR_EFFECTS } from './operator-key-effects';
import { DAYS, LAMP, LJUD, PHONES, SOFA } from './search-cases';
import {
  CLAIM_SUBSCRIPTIONS,
  createSubscription,
  feedOfChange,
  subscriptionClientOf,
  SUBSCRIPTIONS,
  PRODUCT_SUBSCRIPTIONS,
  VOUCHER_SUBSCRIPTIONS,
} from './subscription-network';
import { REPORTED, REPORTED_ID, TRANSACTION_EFFECTS } from './transaction-key-effects';
import { transactionClientOf } from './transaction-network';
import { DAY, NOW, voucherClientOf } from './voucher-network';

const { german, swedish, shared, unconnected } = FEEDS;

let app: TestApp;
let backups: string;
let now: Date;
let operations: readonly Operation[];
let subscriptionId: string;
let loadId: string;
let messageId: string;
let claimSubscriptionId: string;
let claimMessageId: string;
let voucherSubscriptionId: string;
let voucherMessageId: string;
let productSubscriptionId: string;
let productMessageId: string;
let changedFeed: string;
let deliveries: AppDeliveries;
const { post, search } = clientOf(() => app);
const { create } = voucherClientOf(() => app);
const { report } = transactionClientOf(() => app);

const ALL_EFFECTS = [
  ...EFFECTS,
  ...TRANSACTION_EFFECTS,
  ...DELIVERY_EFFECTS,
  ...CLAIM_EFFECTS,
  ...OPERATOR_EFFECTS,
];

beforeAll(async () => {
  now = new Date('2026-02-01');
  backups = await mkdtemp(join(tmpdir(), 'affilog-backups-'));
  app = await TestApp.start({ network: CLAIM_NETWORK, now: () => now, settings: { BACKUP_DIR: backups } });
  operations = operationsOf(app.http.get(ModulesContainer));
  for (const [at, one] of [LAMP, PHONES, SOFA].entries()) {
    now = new Date(DAYS[at]!);
    loadId = String((await post(german, [one])).headers['x-load-id']);
  }
  await post(swedish, [LJUD]);
  await post(shared, [product('twin', { ean: '0501234567890' })]);
  for (const [at, transaction] of REPORTED) {
    now = new Date(at);
    await report(transaction);
  }
  await fileClaims(app, (time) => {
    now = new Date(time);
  });
  now = new Date(NOW);
  for (const feedId of [german, swedish]) await holdSource(app, feedId);
  await create({ voucherTypeId: 5 });
  await create({ programId: 102, startDate: NOW + DAY, languageId: 'sv' });
  await create({ title: 'Lamps', endDate: NOW + DAY });
  await create({ siteIds: [1202] });
  subscriptionId = (await subscriptionClientOf(() => app).create()).subscriptionId;
  deliveries = await projectDeliveries(app, () => NOW);
  messageId = await writeDeliveries(deliveries.history, subscriptionId);
  claimSubscriptionId = await createSubscription(app, CLAIM_SUBSCRIPTIONS);
  claimMessageId = await writeClaimDeliveries(deliveries.history, claimSubscriptionId);
  voucherSubscriptionId = await createSubscription(app, VOUCHER_SUBSCRIPTIONS);
  voucherMessageId = await writeVoucherDeliveries(deliveries.history, voucherSubscriptionId);
  productSubscriptionId = await createSubscription(app, PRODUCT_SUBSCRIPTIONS);
  changedFeed = await feedOfChange(app);
  productMessageId = await writeProductDeliveries(deliveries.history, productSubscriptionId);
  await deliveries.settled();
  await buildNow(app);
  // An action that is listed.
  const mappings = [{ feedId: unconnected, name: 'Recorded', categoryId: '11' }];
  await app.post('/ops/1.0/mappings', {
    token: OTHER_TOKENS.operator,
    body: JSON.stringify({ mappings }),
  });
  await rebuildSome(app);
  await park(app, 'claim-batches', '1');
});
afterAll(async () => {
  await deliveries.stop();
  await app.close();
  await rm(backups, { recursive: true });
});

function named(id: string): Operation {
  const found = operations.find(({ text }) => text.id === id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

function idFor(path: string): string {
  if (path.startsWith(CLAIM_SUBSCRIPTIONS)) return claimSubscriptionId;
  if (path.startsWith(VOUCHER_SUBSCRIPTIONS)) return voucherSubscriptionId;
  if (path.startsWith(PRODUCT_SUBSCRIPTIONS)) return productSubscriptionId;
  if (path.startsWith(SUBSCRIPTIONS)) return subscriptionId;
  return path.startsWith('/1.0/conversions') ? REPORTED_ID : '1';
}

async function ask(operation: Operation, keys: string, isAnonymous = false): Promise<Response> {
  const { path: routed } = operation;
  const ofOthers = {
    [CLAIM_SUBSCRIPTIONS]: claimMessageId,
    [VOUCHER_SUBSCRIPTIONS]: voucherMessageId,
    [PRODUCT_SUBSCRIPTIONS]: productMessageId,
  };
  const other = Object.entries(ofOthers).find(([prefix]) => routed.startsWith(prefix));
  const path = routed
    .replace(':feedId', String(german))
    .replace(':kind', 'claim')
    .replace(':id', idFor(routed))
    .replace(':sourceProductId', 'lamp')
    .replace(':messageId', other?.[1] ?? messageId)
    .replace(':subscriptionId', subscriptionId)
    .replace(':loadId', loadId)
    .replace(':transactionId', REPORTED_ID)
    .replace(':claimId', '1')
    .replace(':voucherId', '1')
    .replace(':productId', changedFeed);
  const token = isAnonymous ? {} : { token: tokenFor(operation) };
  return app.request(operation.method as 'GET', `${path}${keys}`, token);
}

describe('a key changes the answer as described (Documents 1 and 2, Endpoints)', () => {
  it.each(ALL_EFFECTS)('%s;%s', async (id, sent, beside, show, shown) => {
    const operation = named(id);
    expect(show(await ask(operation, `${beside};${sent}`))).toEqual(shown);
    expect(show(await ask(operation, beside))).not.toEqual(shown);
  });
});

/** What a write leaves in a feed that had two products, and what it answers. */
async function left(method: 'POST' | 'DELETE', keys: string, csv?: string): Promise<readonly unknown[]> {
  await post(unconnected, [product('a'), product('b')], { keys: ';mode=replace' });
  const json = method === 'POST' ? { body: JSON.stringify({ products: [product('c')] }) } : {};
  const body = csv === undefined ? json : { body: csv, headers: { 'content-type': 'text/csv' } };
  const { statusCode } = await app.request(method, `/1.0/products${keys}`, { token: TOKENS.nord, ...body });
  return [statusCode, (await search(`;fid=${unconnected};orderBy=priceAsc`)).ids.toSorted()];
}

const fid = `;fid=${unconnected}`;
const WRITES = [
  ['loadProducts', 'fid', 'POST', fid, [200, ['a', 'b', 'c']], '', [400, ['a', 'b']]],
  ['loadProducts', 'mode', 'POST', `${fid};mode=replace`, [200, ['c']], fid, [200, ['a', 'b', 'c']]],
  ['loadProducts', 'dryRun', 'POST', `${fid};dryRun=true`, [200, ['a', 'b']], fid, [200, ['a', 'b', 'c']]],
  ['deleteProducts', 'fid', 'DELETE', `${fid};spId=a`, [200, ['b']], ';spId=a', [400, ['a', 'b']]],
  ['deleteProducts', 'spId', 'DELETE', `${fid};spId=a`, [200, ['b']], fid, [400, ['a', 'b']]],
  [
    'deleteProducts',
    'dryRun',
    'DELETE',
    `${fid};spId=a;dryRun=true`,
    [200, ['a', 'b']],
    `${fid};spId=a`,
    [200, ['b']],
  ],
  ['deleteProducts', 'deleteAll', 'DELETE', `${fid};deleteAll=true`, [200, []], fid, [400, ['a', 'b']]],
] as const;

/** A CSV of one product, in which each of its cells is in these. */
function csvOf(separator: string, embrace: string, name = 'name'): string {
  const cells = {
    sourceProductId: 'c',
    [name]: 'Lamp',
    description: 'A',
    productUrl: 'https://shop.example/c',
  };
  const all = { ...cells, price: '12', imageUrl: 'https://shop.example/c.png', categories: 'Lamps' };
  const line = (texts: readonly string[]) => texts.map((text) => embrace + text + embrace).join(separator);
  return `${line(Object.keys(all))}\n${line(Object.values(all))}\n`;
}

const CSV_WRITES = [
  ['loadProducts', 'map', csvOf(',', '"', 'Titel'), ';map=name:Titel'],
  ['loadProducts', 'csvSeparators', csvOf('|', '"'), ';csvSeparators=%7C~:'],
  ['loadProducts', 'csvEmbrace', csvOf(',', "'"), ';csvEmbrace=%27'],
] as const;

describe('a key changes the write as described (Document 1, Endpoints)', () => {
  it.each(CSV_WRITES)('%s;%s', async (_id, _key, csv, keys) => {
    expect(await left('POST', `${fid}${keys}`, csv)).toEqual([200, ['a', 'b', 'c']]);
    expect(await left('POST', fid, csv)).toEqual([400, ['a', 'b']]);
  });

  it.each(WRITES)('%s;%s', async (_id, _key, method, keys, then, without, otherwise) => {
    expect(await left(method, keys)).toEqual(then);
    expect(await left(method, without)).toEqual(otherwise);
  });
});

describe('keys of all operations', () => {
  /** Keys whose values are times of day: they take an ISO 8601 date-time, and milliseconds. */
  const timesOf = ({ keys }: Operation) =>
    Object.entries(keys)
      .filter(([, { type }]) => type !== TEXT && type.read('2026-04-17T10:00:00Z') !== undefined)
      .map(([key]) => key)
      .filter((key) => !['dateOutputFormat', 'suggest', 'reason'].includes(key));

  const lines = ({ body }: Response) => body.split('\n').length;

  it('token: required (Documents 1 and 2, Authentication)', async () => {
    for (const operation of operations)
      expect((await ask(operation, goodKeys(operation), true)).json()).toMatchObject({
        errors: [{ code: '1' }],
      });
  });

  it('times: refused if they were given in seconds, milliseconds and dates from before 2001 not (decisions A17, V16)', async () => {
    const found: string[] = [];
    for (const operation of operations)
      for (const key of timesOf(operation)) {
        const sent = (value: string) => ask(operation, `${goodKeys(operation)};${key}=${value}`);
        for (const seconds of ['1', '1763000000', '1763000000.25', '978307199999']) {
          const refused = await sent(seconds);
          expect([refused.statusCode, refused.body]).toEqual([
            400,
            expect.stringContaining(
              `${key}=${seconds}: expected milliseconds since 1970, of 2001 or later (given in seconds?`,
            ),
          ]);
        }
        for (const accepted of ['0', '-1763000000', '978307200000', '1999-12-31', '1999-12-31T23:59:59Z'])
          expect([key, (await sent(accepted)).statusCode]).toEqual([key, 200]);
        found.push(`${operation.text.id} ${key}`);
      }
    const expected = [
      'downloadFeed since',
      ...['listAnyDeliveries maxTime', 'listAnyDeliveries minTime'],
      ...['listClaimSubscriptionDeliveries maxTime', 'listClaimSubscriptionDeliveries minTime'],
      ...['listSubscriptionDeliveries maxTime', 'listSubscriptionDeliveries minTime'],
      ...['listTransactions maxApproved', 'listTransactions maxChanged', 'listTransactions maxTimeOfEvent'],
      ...['listTransactions minApproved', 'listTransactions minChanged', 'listTransactions minTimeOfEvent'],
      ...['listProductSubscriptionDeliveries maxTime', 'listProductSubscriptionDeliveries minTime'],
      ...['listVoucherSubscriptionDeliveries maxTime', 'listVoucherSubscriptionDeliveries minTime'],
      ...['listVouchers activeAt', 'listVouchers maxStartDate', 'listVouchers minEndDate'],
      ...AS_OF_VIEWS.flatMap(([, id]) => timesOf(named(id)).map((key) => `${id} ${key}`)),
      ...['searchProducts maxUpdateDate', 'searchProducts minUpdateDate'],
      ...[
        'totalTransactions maxApproved',
        'totalTransactions maxChanged',
        'totalTransactions maxTimeOfEvent',
      ],
      ...[
        'totalTransactions minApproved',
        'totalTransactions minChanged',
        'totalTransactions minTimeOfEvent',
      ],
    ];
    expect(found.sort()).toEqual(expected.sort());
  });

  it('times: a date as an upper bound includes its day, as a lower bound begins with it (decisions A17)', () => {
    const [first, last] = [Date.UTC(2026, 10, 25), Date.UTC(2026, 10, 26) - 1];
    const ofDays = operations.flatMap(({ keys }) =>
      Object.entries(keys).filter(([, { type }]) => typeof type.read('2026-11-25') === 'number'),
    );
    expect(ofDays.length).toBeGreaterThan(20);
    for (const [key, { type }] of ofDays) {
      expect([key, type.read('2026-11-25')]).toEqual([key, key.startsWith('max') ? last : first]);
      if (type.read(String(last)) !== undefined)
        expect([key, type.read('2026-11-25T00:00Z'), type.read(String(first))]).toEqual([key, first, first]);
    }
  });

  it('pretty: line breaks (Document 1, Conventions 6), and jsonp: a call (Document 1, Conventions 5)', async () => {
    const json = operations.filter(({ method, formats }) => method === 'GET' && formats.includes('json'));
    // Those of before were retried.
    await park(app, 'vouchers', 'x');
    expect((await ask(named('makeBackup'), ';name=x')).statusCode).toBe(200);
    for (const operation of json) {
      const keys = goodKeys(operation);
      const plain = await ask(operation, keys);
      const pretty = await ask(operation, `${keys};pretty=true`);
      expect([operation.path, pretty.statusCode, lines(pretty) > lines(plain)]).toEqual([
        ...[operation.path, 200, true],
      ]);
      const called = await ask(operation, `${keys}?jsonp=f`);
      expect(called.body.slice(0, 6)).toBe('/**/f(');
    }
  });
});

describe('this file', () => {
  const shown = (id: string): readonly string[] => [
    ...ALL_EFFECTS.filter(([operation]) => operation === id).map(([, sent]) =>
      sent.split('=')[0]!.toLowerCase(),
    ),
    ...[...WRITES, ...CSV_WRITES]
      .filter(([operation]) => operation === id)
      .map(([, key]) => key.toLowerCase()),
  ];

  it('has each key of each operation', () => {
    for (const {
      text: { id },
      keys,
    } of operations)
      expect([
        id,
        ...missingFrom(
          Object.keys(keys).map((key) => key.toLowerCase()),
          shown(id),
        ),
      ]).toEqual([id]);
  });

  it.each([
    ['searchProducts', [...SEARCH_KEYS, ...CSV_KEYS]],
    ['loadProducts', CREATE_KEYS],
    ['deleteProducts', DELETE_KEYS],
    ['downloadFeed', DOWNLOAD_KEYS],
    ['getLastUpdated', LAST_UPDATED_KEYS],
    ['getCategoryTree', CATEGORY_KEYS],
    ['listCategoryMappings', MAPPING_KEYS],
    ['listFeeds', FEED_KEYS],
    ['listVouchers', VOUCHER_KEYS],
    ['listClaims', CLAIM_KEYS],
    ['listLegacyClaims', missingFrom(CLAIM_KEYS, NOT_LEGACY_KEYS)],
  ])('has each key of the document for %s', (id, keys) => {
    const ofAll = ['token', 'pretty', 'jsonp'];
    expect(missingFrom(keys, [...Object.keys(named(id).keys), ...ofAll])).toEqual([]);
  });

  it('has no key that legacy lists lack (Document 3, Legacy advertiser paths; decisions C8)', () => {
    expect(NOT_LEGACY_KEYS.filter((key) => key in named('listLegacyClaims').keys)).toEqual([]);
  });
});
