import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe';
import { ReadQueue } from '../../src/http/read-queue';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { type Response, TestApp, type TestRequest } from '../support/app';
import { type DescribedOperation, OpenApiDocument, targetOf } from '../support/openapi';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { buildNow, holdSource, park, rebuildSome } from './asked-operations';
import { CLAIM_NETWORK, CLAIM_TOKENS } from './claim-network';
import { AT_NETWORK, CLAIM_REQUESTS, claimClientFor, fileDescribedClaims } from './described-claims';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, FULL, product, XML_UTF8 } from './posted';
import { subscriptionsAt, targetWithIds } from './subscription-network';
import { SUBSCRIPTION_REQUESTS } from './described-subscriptions';
import { CONVERSION_TOKENS, reportOf } from './transaction-network';
import { NOW, voucher, VOUCHER_TOKENS } from './voucher-network';

const { german } = FEEDS;
/** The feed and the event that the examples of the description name, as in the demonstration. */
const EXAMPLE_FEED = 1001;
const EXAMPLE_EVENT = 1011;
const CSV_UTF8 = { 'content-type': 'text/csv; charset=utf-8' } as const;

let app: TestApp;
let backups: string;
let deliveries: AppDeliveries;
/** Of a load of the feed. */
let loadId = '';
let described: OpenApiDocument;
/** Requests that the queue of heavy reads has admitted. */
let queued: jest.SpyInstance;
let operations: ReadonlyMap<string, Operation>;
const { post } = clientOf(() => app);

beforeAll(async () => {
  const feed = { id: EXAMPLE_FEED, programIds: [101], name: 'Of examples', language: 'de' };
  const event = { id: EXAMPLE_EVENT, name: 'Of examples', kind: 'sale', pendingDays: 30 };
  const programs = CLAIM_NETWORK.programs.map((program) => {
    const { id, events } = program as { id: number; events: readonly object[] };
    return id === 101 ? { ...program, events: [...events, event] } : program;
  });
  const network = { ...CLAIM_NETWORK, programs, feeds: [...CLAIM_NETWORK.feeds, feed] };
  backups = await mkdtemp(join(tmpdir(), 'affilog-backups-'));
  app = await TestApp.start({ network, now: () => new Date(NOW), settings: { BACKUP_DIR: backups } });
  queued = jest.spyOn(app.http.get(ReadQueue), 'run');
  deliveries = await projectDeliveries(app, () => NOW);
  described = await OpenApiDocument.of(app);
  const all = operationsOf(app.http.get(ModulesContainer));
  operations = new Map(all.map((operation) => [operation.text.id, operation]));
  await post(german, [{ ...FULL, price: 1 }, product('bare', { categories: [{ name: 'Own' }] })]);
  await post(german, [FULL]);
  loadId = String(
    (await post(german, [product('bare', { categories: [{ name: 'Own' }] })])).headers['x-load-id'],
  );
  await park(app, 'claim-batches', '1', '2');
  await fileDescribedClaims(app);
  await buildNow(app);
  await rebuildSome(app);
  // Those of the examples.
  for (const name of ['first', 'old']) await buildNow(app, name);
});
afterAll(async () => {
  await deliveries.stop();
  await app.close();
  await rm(backups, { recursive: true });
});

/** A token for an operation. */
function tokenFor({ path, callers }: Operation): string {
  if (path.startsWith('/ops/')) return OTHER_TOKENS.operator;
  if (path.startsWith('/1.0/conversions/')) return CONVERSION_TOKENS.nord;
  if (/^\/1.0\/(claim|uts)/.test(path))
    return CLAIM_TOKENS[subscriptionsAt(path) !== undefined ? 'nord' : claimClientFor(callers)];
  const tokens = path.startsWith('/1.0/vouchers') ? VOUCHER_TOKENS : TOKENS;
  return callers.includes('advertiser') ? tokens.nord : tokens.preisblick;
}

/** The operation that a described one is a view of: with JSON, or with other formats. */
function routedId({ operationId }: DescribedOperation): string {
  return operationId.replace(/As$/, '');
}

/** The extensions that its path may have; one empty one for JSON. */
function extensionsOf({ parameters }: DescribedOperation): readonly string[] {
  const schema = parameters.find(({ name }) => name === 'extension')?.schema;
  return (schema?.enum as readonly string[] | undefined) ?? [''];
}

/** What is asked of an operation, behind its method: target, and a body. */
type Asked = readonly [id: string, target: string, details?: TestRequest];

const products = `/1.0/products;fid=${german}`;
const feed = `/1.0/productsUnlimited;fid=${german}`;
const mappings = '/ops/1.0/mappings';
const sources = '/1.0/products/sources';
const anySources = '/ops/1.0/sources';
const all = ';sourceproducturl=true;priceHistory=true';
/** In JSON, dates are described as they are without this key (decisions X36). */
const allAndDates = `${all};dateOutputFormat=iso8601`;
const json = (value: unknown) => ({ body: JSON.stringify(value) });
const lines = (...changes: object[]) => json({ mappings: changes });

const transactions = '/1.0/conversions/transactions';
const legacyTransactionId = 'T-1_301_1';
const transactionId = createHash('sha256')
  .update(`${legacyTransactionId}_program101`)
  .digest('hex')
  .slice(0, 32);

const REQUESTS: readonly Asked[] = [
  ['searchProducts', products],
  ['searchProducts', `${products}${all};groupOffersByProduct=true`],
  ['searchProducts', `${products};cursor=*;pageSize=1`],
  ['searchProducts', `${products};facets=brand,tdCategoryId,category,priceRange(1,10.5),feed`],
  [
    'searchProducts',
    `/1.0/products.xml;fid=${german};facets=brand,tdCategoryId,category,priceRange(1,10.5),feed`,
  ],
  ['searchProducts', `${products};facets=colour`],
  ['searchProducts', `${products};q=lampp,lam;prefix=true;fuzzy=true;suggest=l`],
  ['searchProducts', `/1.0/products.xml;fid=${german};q=lampp;fuzzy=true;suggest=l`],
  ['searchProducts', `${products};suggest=-`],
  ['searchProducts', `${products};q=nothing`],
  ['searchProducts', `/1.0/products.xml;fid=${german}${allAndDates}`],
  ['searchProducts', `/1.0/products.csv;fid=${german}`],
  ['searchProducts', `${products}?jsonp=show`],
  ['searchProducts', '/1.0/products.xml'],
  ['loadProducts', products, json({ products: [product('a')] })],
  ['loadProducts', products, json({ products: [product('a'), product('b', { price: 'x' })] })],
  ['loadProducts', `/1.0/products.xml;fid=${german}`, json({ products: [{}] })],
  ['loadProducts', products, { headers: { 'content-type': 'text/plain' }, body: '' }],
  ['deleteProducts', `${products};spId=none`],
  ['deleteProducts', products],
  ['downloadFeed', feed],
  ['downloadFeed', `${feed};since=2026-01-01`],
  ['downloadFeed', `/1.0/productsUnlimited.xml;fid=${german}${allAndDates}`],
  ['downloadFeed', `/1.0/productsUnlimited;fid=99`],
  ['getLastUpdated', `/1.0/productsUnlimited/lastUpdated;fid=${FEEDS.secret}`],
  ['getLastUpdated', `/1.0/productsUnlimited/lastUpdated.xml;fid=${german}`],
  ['getVisibility', `/1.0/products/visibility;fid=${german};spId=bare`],
  ['getVisibility', `/1.0/products/visibility.xml;fid=${german};spId=bare`],
  ['getVisibility', `/1.0/products/visibility;fid=${german}`],
  ['listImports', `/1.0/products/imports;fid=${german}`],
  ['listImports', `/1.0/products/imports.xml;fid=${german}`],
  ['setSource', sources, json({ feedId: EXAMPLE_FEED, url: 'https://shop.example/a.xml', every: '6h' })],
  ['setSource', sources, json({ feedId: EXAMPLE_FEED, url: 'http://10.0.0.1/', every: '1m' })],
  ['acceptSource', `${sources}/accept;fid=${EXAMPLE_FEED}`],
  ['fetchSource', `${sources}/fetch;fid=${EXAMPLE_FEED}`],
  ['fetchSource', `${sources}/fetch;fid=7`],
  ['listSources', sources],
  ['listSources', `${sources};fid=7`],
  ['removeSource', `${sources};fid=${EXAMPLE_FEED}`],
  ['setAnySource', anySources, json({ feedId: EXAMPLE_FEED, url: 'https://shop.example/a', every: '1d' })],
  ['setAnySource', anySources, json({})],
  ['acceptAnySource', `${anySources}/accept;fid=${EXAMPLE_FEED};reason=test`],
  ['acceptAnySource', `${anySources}/accept;fid=${EXAMPLE_FEED}`],
  ['fetchAnySource', `${anySources}/fetch;fid=${EXAMPLE_FEED}`],
  ['fetchAnySource', `${anySources}/fetch;fid=7`],
  ['listAnySources', anySources],
  ['removeAnySource', `${anySources};fid=${EXAMPLE_FEED}`],
  ['getCategoryTree', '/1.0/productCategories'],
  ['getCategoryTree', '/1.0/productCategories.xml;language=de'],
  ['listCategoryMappings', `/1.0/categoryMappings;fid=${german}`],
  ['listCategoryMappings', `/1.0/categoryMappings.xml;fid=${german}`],
  ['listFeeds', '/1.0/productFeeds'],
  ['listFeeds', '/1.0/productFeeds.xml'],
  ['getFeed', `/1.0/productFeeds/${german}`],
  ['getFeed', `/1.0/productFeeds/99`],
  ['postVoucher', '/1.0/vouchers', json(voucher({ sourceId: 'told', landingUrl: 'https://a.example/' }))],
  ['postVoucher', '/1.0/vouchers.xml', json(voucher({ siteIds: [1101] }))],
  ['postVoucher', '/1.0/vouchers', json({})],
  ['postVoucher', '/1.0/vouchers', { headers: XML_UTF8, body: '<voucher/>' }],
  ['postVouchers', '/1.0/vouchers/bulk', json([voucher({ title: 'One' }), { title: 'Other' }, voucher()])],
  ['postVouchers', '/1.0/vouchers/bulk', json({})],
  ['listVouchers', '/1.0/vouchers'],
  ['listVouchers', '/1.0/vouchers.xml'],
  ['listVouchers', '/1.0/vouchers.xml;dateOutputFormat=iso8601'],
  ['listVouchers', '/1.0/vouchers.csv'],
  ['listVouchers', '/1.0/vouchers.ics'],
  ['listVouchers', '/1.0/vouchers?jsonp=show'],
  ['listVouchers', '/1.0/vouchers.xml;page=-1'],
  ['listVersions', '/1.0/vouchers/1/versions'],
  ['listVersions', '/1.0/vouchers/1/versions.xml;dateOutputFormat=iso8601'],
  ['listVersions', '/1.0/vouchers/999/versions'],
  ['deleteVoucher', '/1.0/vouchers/999'],
  ['deleteVoucher', '/1.0/vouchers/1'],
  ['reportTransaction', transactions, json(reportOf('T-1', { reportInfo: 'f1=a&f2=b' }))],
  ['reportTransaction', `${transactions}.xml`, json(reportOf('T-1'))],
  ['reportTransaction', transactions, json(reportOf('T-1', { orderValue: 7 }))],
  ['reportTransaction', transactions, json({})],
  [
    'reportTransaction',
    transactions,
    {
      headers: XML_UTF8,
      body: '<transaction><programId>101</programId><eventId>302</eventId><siteId>1101</siteId><orderNumber>T-2</orderNumber></transaction>',
    },
  ],
  ['reportTransactions', `${transactions}/bulk`, json([reportOf('T-3'), reportOf('T-3'), {}, 5])],
  ['reportTransactions', `${transactions}/bulk.xml`, json([reportOf('T-4'), {}])],
  ['reportTransactions', `${transactions}/bulk`, json({})],
  [
    'moveTransaction',
    `${transactions}/transitions`,
    json({ transactionId, action: 'amend', orderValue: 12 }),
  ],
  ['moveTransaction', `${transactions}/transitions.xml`, json({ legacyTransactionId, action: 'approve' })],
  ['moveTransaction', `${transactions}/transitions`, json({ transactionId, action: 'deny' })],
  ['moveTransaction', `${transactions}/transitions`, json({ action: 'deny' })],
  [
    'moveTransactions',
    `${transactions}/transitions/bulk`,
    json([{ legacyTransactionId: 'T-3_301_1', action: 'deny' }, 5]),
  ],
  [
    'moveTransactions',
    `${transactions}/transitions/bulk.xml`,
    json([{ transactionId, action: 'delete' }, { action: 'x' }]),
  ],
  ['moveTransactions', `${transactions}/transitions/bulk`, { headers: XML_UTF8, body: '<transition/>' }],
  ['listTransactions', transactions],
  ['listTransactions', `${transactions}?jsonp=show`],
  ['listTransactions', `${transactions};cursor=*;pageSize=1`],
  ['listTransactions', `${transactions}.xml`],
  ['listTransactions', `${transactions}.xml;dateOutputFormat=epoch`],
  ['listTransactions', `${transactions}.csv`],
  ['listTransactions', `${transactions};page=-1`],
  ['totalTransactions', `${transactions}/totals`],
  ['totalTransactions', `${transactions}/totals.xml`],
  ['totalTransactions', `${transactions}/totals;groupBy=day,programId,siteId,eventId;periodOf=approved`],
  ['totalTransactions', `${transactions}/totals.csv;groupBy=month,state`],
  ['totalTransactions', `${transactions}/totals;groupBy=day,week`],
  ['totalTransactions', `${transactions}/totals;programId=x`],
  ['getTransaction', `${transactions}/${transactionId}`],
  ['getTransaction', `${transactions}/7`],
  ['getTransactionHistory', `${transactions}/${transactionId}/transitions`],
  ['getTransactionHistory', `${transactions}/${transactionId}/transitions.xml`],
  ['getTransactionHistory', `${transactions}/7/transitions`],
  ...SUBSCRIPTION_REQUESTS,
  ...CLAIM_REQUESTS,
  ['whyProduct', `/ops/1.0/why/product;fid=${german};spId=bare;publisher=11`],
  ['whyProduct', '/ops/1.0/why/product;fid=7;spId=bare'],
  ['whyVoucher', '/ops/1.0/why/voucher;id=2'],
  ['whyVoucher', '/ops/1.0/why/voucher;id=7000'],
  ['whyDelivery', `/ops/1.0/why/delivery;id=${transactionId}`],
  ['whyDelivery', '/ops/1.0/why/delivery;id=nothing'],
  ['readLog', '/ops/1.0/log;type=ProductListed;limit=2'],
  ['readLog', '/ops/1.0/log;type=ProductRenamed'],
  ['readLog', '/ops/1.0/log;limit=0'],
  ['getMetrics', '/ops/1.0/metrics'],
  ['askSql', '/ops/1.0/sql;q=SELECT%201%20AS%20one'],
  ['askSql', '/ops/1.0/sql;q=SELECT'],
  ['askSql', '/ops/1.0/sql'],
  ['searchProductsAsOf', `/ops/1.0/products;fid=${german};asOf=now;publisher=11`],
  ['searchProductsAsOf', `/ops/1.0/products;fid=${german};asOf=now`],
  ['searchProductsAsOf', '/ops/1.0/products;asOf=now;advertiser=1'],
  ['listVouchersAsOf', '/ops/1.0/vouchers;asOf=now;advertiser=1'],
  ['listVouchersAsOf', '/ops/1.0/vouchers;asOf=none;advertiser=1'],
  ['listTransactionsAsOf', '/ops/1.0/transactions;asOf=now'],
  ['listTransactionsAsOf', '/ops/1.0/transactions;asOf=now;page=-1'],
  ['totalTransactionsAsOf', '/ops/1.0/transactions/totals;asOf=now'],
  ['totalTransactionsAsOf', '/ops/1.0/transactions/totals.csv;groupBy=week,siteId;publisher=11'],
  ['totalTransactionsAsOf', '/ops/1.0/transactions/totals;groupBy=day,week'],
  ['totalTransactionsAsOf', '/ops/1.0/transactions/totals;publisher=1'],
  ['listAsOf', '/ops/1.0/asOf'],
  ['buildAsOf', '/ops/1.0/asOf;name=now;projection=vouchers;at=1999-01-01'],
  ['buildAsOf', '/ops/1.0/asOf;name=then;projection=vouchers;position=9'],
  ['dropAsOf', '/ops/1.0/asOf/now'],
  ['dropAsOf', '/ops/1.0/asOf/now'],
  ['makeBackup', '/ops/1.0/backups;name=daily'],
  ['makeBackup', '/ops/1.0/backups;name=..'],
  ['listBackups', '/ops/1.0/backups'],
  ['verifyBackup', '/ops/1.0/backups/verify;name=daily'],
  ['verifyBackup', '/ops/1.0/backups/verify;name=none'],
  ['searchProductsAsOf', `/ops/1.0/products;fid=${german};publisher=11`],
  ['listAllFeeds', '/ops/1.0/feeds'],
  ['listTokens', '/ops/1.0/tokens'],
  ['listTokens', '/ops/1.0/tokens;organisationId=999'],
  ['listActions', '/ops/1.0/actions'],
  ['listActions', '/ops/1.0/actions;limit=0'],
  ['listProjections', '/ops/1.0/projections'],
  ['listProjections', '/ops/1.0/projections;name=none'],
  ['pauseProjections', '/ops/1.0/projections/pause;name=feeds'],
  ['pauseProjections', '/ops/1.0/projections/pause;name=none'],
  ['resumeProjections', '/ops/1.0/projections/resume;name=feeds'],
  ['resumeProjections', '/ops/1.0/projections/resume'],
  ['rebuildProjections', '/ops/1.0/projections/rebuild;name=claims;swap=false'],
  ['rebuildProjections', '/ops/1.0/projections/rebuild;name=none'],
  ['verifyProjections', '/ops/1.0/projections/verify;name=claims'],
  ['verifyProjections', '/ops/1.0/projections/verify;name=claims;sample=0'],
  ['getVerification', '/ops/1.0/projections/verification;name=feeds'],
  ['getVerification', '/ops/1.0/projections/verification;name=subscriptions'],
  ['swapProjections', '/ops/1.0/projections/swap;name=imports;reason=test'],
  ['swapProjections', '/ops/1.0/projections/swap;name=subscriptions;reason=test'],
  ['rollbackProjections', '/ops/1.0/projections/rollback;name=imports;force=true;reason=test'],
  ['rollbackProjections', '/ops/1.0/projections/rollback;name=subscriptions;reason=test'],
  ['discardGenerations', '/ops/1.0/projections/discard;name=imports;reason=test'],
  ['discardGenerations', '/ops/1.0/projections/discard;name=none;reason=test'],
  ['getServerState', '/ops/1.0/server'],
  ['listDocuments', '/ops/1.0/documents;position=1'],
  ['listDocuments', '/ops/1.0/documents;readModel=vouchers;id=2'],
  ['listDocuments', '/ops/1.0/documents'],
  ['listParked', '/ops/1.0/parked'],
  ['listParked', '/ops/1.0/parked;name=none'],
  ['retryParked', '/ops/1.0/parked/retry;name=vouchers'],
  ['retryParked', '/ops/1.0/parked/retry;name=none'],
  ['skipParked', '/ops/1.0/parked/skip;name=claim-batches;id=2;reason=other'],
  ['skipParked', '/ops/1.0/parked/skip;name=claim-batches;id=2'],
  ['listAnySubscriptions', '/ops/1.0/subscriptions'],
  ['listAnySubscriptions', '/ops/1.0/subscriptions;limit=0'],
  ['getAnyDelivery', '/ops/1.0/deliveries/{messageId}'],
  ['getAnyDelivery', '/ops/1.0/deliveries/none'],
  ['redeliverAnyMessage', '/ops/1.0/deliveries/{messageId}/redeliver'],
  ['redeliverAnyMessage', '/ops/1.0/deliveries/none/redeliver'],
  ['redeliverAnyMessages', '/ops/1.0/subscriptions/{id}/redeliveries;minTime=2020-01-01;maxTime=2040-01-01'],
  ['redeliverAnyMessages', '/ops/1.0/subscriptions/none/redeliveries;minTime=2020-01-01;maxTime=2040-01-01'],
  ['enableAnyReceiver', '/ops/1.0/receivers/{id}/{receiverId}/enable'],
  ['enableAnyReceiver', '/ops/1.0/receivers/{id}/none/enable'],
  ['testAnyReceiver', '/ops/1.0/receivers/{id}/{receiverId}/test'],
  ['testAnyReceiver', '/ops/1.0/receivers/none/none/test'],
  ['listAnyImports', `/ops/1.0/feeds/${german}/loads`],
  ['listAnyImports', '/ops/1.0/feeds/7/loads'],
  ['getRestorePlan', `/ops/1.0/feeds/${german}/loads/{loadId}`],
  ['getRestorePlan', `/ops/1.0/feeds/${german}/loads/none`],
  ['restoreFeed', `/ops/1.0/feeds/${german}/loads/{loadId}/restore;reason=test`],
  ['restoreFeed', `/ops/1.0/feeds/${german}/loads/none/restore;reason=test`],
  ['getLogStats', '/ops/1.0/log/stats'],
  ['getHistory', '/ops/1.0/history/program/101'],
  ['getHistory', '/ops/1.0/history/program/101;at=2999-01-01'],
  ['getHistory', '/ops/1.0/history/program/101;diff=1,2'],
  ['getHistory', '/ops/1.0/history/voucher/4711'],
  ['getHistory', '/ops/1.0/history/program/101;version=0'],
  ['getProductHistory', `/ops/1.0/history/product/${german}/none`],
  ['getProductHistory', `/ops/1.0/history/product/${german}/bare`],
  ['checkLog', '/ops/1.0/log/check'],
  ['listMappings', `${mappings};fid=${german}`],
  ['listMappings', mappings],
  ['listMappings', `${mappings};fid=${german}`, { headers: { accept: 'text/csv' } }],
  ['suggestMappings', `${mappings}/suggestions;fid=${german};name=Lamps`],
  ['suggestMappings', `${mappings}/suggestions`],
  [
    'changeMappings',
    mappings,
    lines({ feedId: german, name: 'Own', categoryId: 12 }, { feedId: german, name: 'x' }),
  ],
  ['changeMappings', mappings, lines({ feedId: 7, name: 'Own' })],
  ['changeMappings', mappings, { headers: CSV_UTF8, body: `feedId,name,categoryId\n${german},Own,\n` }],
  ['changeMappings', mappings, json({})],
  ['unmapName', `${mappings};fid=${german};name=Own`],
  ['unmapName', `${mappings};fid=7;name=Own`],
  ['unmapName', mappings],
];

function idsFor({ path }: DescribedOperation): Readonly<Record<string, string>> {
  const subjects = Object.fromEntries(
    ['transactionId', 'claimId', 'voucherId', 'productId'].map((name) => [name, '{subjectId}']),
  );
  if (subscriptionsAt(path) !== undefined)
    return { ...subjects, id: '{id}', receiverId: '{receiverId}', messageId: '{messageId}' };
  if (path.startsWith('/1.0/claims')) return {};
  if (path.startsWith('/ops/1.0/history/'))
    return { feedId: String(german), sourceProductId: 'bare', kind: 'program', id: '101' };
  if (path.startsWith('/ops/1.0/parked')) return {};
  if (path.startsWith('/ops/1.0/feeds/')) return { feedId: String(german), loadId: '{loadId}' };
  if (/^\/ops\/1\.0\/(deliveries|receivers|subscriptions)\//.test(path))
    return { subscriptionId: '{id}', receiverId: '{receiverId}', messageId: '{messageId}' };
  if (path.endsWith('/release')) return { id: String(AT_NETWORK.release) };
  if (path.endsWith('/reject')) return { id: String(AT_NETWORK.reject) };
  return { id: path.startsWith(transactions) ? transactionId : '2' };
}

const asked = new Map<string, number[]>();

/** Answers in XML. */
const inXml: (readonly [id: string, target: string, answer: Response])[] = [];

/** Operations that read and have been asked with success, and whether each answer was queued. */
const reads = new Map<string, Set<boolean>>();

/** Their answers are short, or the file of a download. */
const NOT_QUEUED = [
  'askSql',
  'downloadFeed',
  'getLastUpdated',
  'getMetrics',
  'listClaimStatuses',
  'listLegacyClaimStatuses',
  'readLog',
];

async function ask([id, target, details = {}]: Asked): Promise<Response> {
  const operation = operations.get(id);
  if (operation === undefined) throw new Error(`there is no ${id}`);
  if (/sources\/(fetch|accept)/.test(target)) await holdSource(app, EXAMPLE_FEED);
  queued.mockClear();
  const whole = await targetWithIds(app, target.replace('{loadId}', loadId), deliveries);
  const answer = await app.request(operation.method as 'GET', whole, {
    token: tokenFor(operation),
    ...details,
  });
  asked.set(id, [...(asked.get(id) ?? []), answer.statusCode]);
  if (operation.method === 'GET' && answer.statusCode === 200)
    reads.set(id, (reads.get(id) ?? new Set()).add(queued.mock.calls.length === 1));
  return answer;
}

describe('real answers match the description', () => {
  it.each(REQUESTS.map(([id, target, details = {}]) => [id, target, details] as const))(
    '%s, asked as %s, answers as described',
    async (id, target, details) => {
      const answer = await ask([id, target, details]);
      if (String(answer.headers['content-type']).includes('xml')) inXml.push([id, target, answer]);
      else expect(await described.problemsOf(id, answer)).toEqual([]);
    },
  );

  it('those in XML answer as described', async () => {
    expect(inXml.length).toBeGreaterThan(50);
    // Together: each run of libxml2 takes longer than many answers.
    const problems = inXml.map(async ([id, target, answer]) => [
      ...[id, target, await described.problemsOf(id, answer)],
    ]);
    expect(await Promise.all(problems)).toEqual(inXml.map(([id, target]) => [id, target, []]));
  });

  it('each POST that is sent again with its Idempotency-Key is answered as before (decisions A22)', async () => {
    const repeated = new Set<string>();
    for (const [id, given, details = {}] of REQUESTS) {
      if (operations.get(id)?.method !== 'POST' || id === 'loadProducts' || repeated.has(id)) continue;
      const target = await targetWithIds(app, given, deliveries);
      const headers = { ...details.headers, 'idempotency-key': SYSTEM_CLOCK.uuid() };
      const sent: Asked = [id, target, { ...details, headers }];
      const [first, second] = [await ask(sent), await ask(sent)];
      expect([id, second.statusCode, second.body]).toEqual([id, first.statusCode, first.body]);
      if (second.headers['idempotent-replayed'] === 'true') repeated.add(id);
    }
    const posts = [...operations.values()]
      .filter(({ method }) => method === 'POST')
      .map(({ text }) => text.id);
    expect(posts.filter((id) => id !== 'loadProducts' && !repeated.has(id))).toEqual([]);
  });

  it('each operation was tested with a success and a failure', () => {
    const untried = [...operations.keys()]
      .map((id) => [id, asked.get(id) ?? []] as const)
      .filter(([, statuses]) => !statuses.some((status) => status < 300))
      .map(([id]) => id);
    expect(untried).toEqual([]);
    const failed = [...asked.values()].flat().filter((status) => status >= 400);
    expect(failed.length).toBeGreaterThan(10);
  });

  it('whatever reads waits in the queue of heavy reads, but for short answers and downloads (decisions X70)', () => {
    expect(reads.size).toBeGreaterThan(20);
    const unqueued = [...reads].filter(([, was]) => was.has(false)).map(([id]) => id);
    expect(unqueued.toSorted()).toEqual(NOT_QUEUED);
    for (const id of NOT_QUEUED) expect([id, reads.get(id)]).toEqual([id, new Set([false])]);
  });

  it('an answer with additional or missing fields does not match', async () => {
    const answer = await ask(['listVouchers', '/1.0/vouchers']);
    const [first, ...others] = answer.json<Record<string, unknown>[]>();
    for (const changed of [
      { ...first, more: 1 },
      { ...first, id: 'x' },
      { ...first, title: undefined },
    ]) {
      const body = JSON.stringify([changed, ...others]);
      expect(await described.problemsOf('listVouchers', { ...answer, body })).not.toEqual([]);
    }
    expect(await described.problemsOf('deleteVoucher', answer)).toEqual(['status 200']);
  });

  it('each operation refuses requests without a token, with the error list as described', async () => {
    const answers: (readonly [path: string, id: string, answer: Response])[] = [];
    for (const operation of described.operations) {
      const { method, path } = operation;
      const answer = await app.request(method, targetOf(operation, { extension: 'xml' }));
      answers.push([path, routedId(operation), answer]);
      expect([path, answer.statusCode, answer.body.includes('Missing token')]).toEqual([path, 400, true]);
    }
    const problems = await Promise.all(
      answers.map(async ([path, id, answer]) => [path, await described.problemsOf(id, answer)]),
    );
    expect(problems).toEqual(answers.map(([path]) => [path, []]));
  });
});

/** Contents that an operation posts or answers with success, with the statuses of the latter. */
function contentsOf({ requestBody, responses }: DescribedOperation) {
  const answers = Object.entries(responses).flatMap(([status, answer]) =>
    '$ref' in answer ? [] : [[status, answer.content ?? {}] as const],
  );
  return [['body', requestBody?.content ?? {}] as const, ...answers].flatMap(([of, content]) =>
    Object.entries(content).map(([type, described]) => ({ of, type, ...described })),
  );
}

const textOf = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example);

describe('the examples of the description', () => {
  it('are there for each body, each answer and each required key, and match it (decisions X137)', async () => {
    const problems: unknown[] = [];
    const checks = described.operations.flatMap((operation) => {
      const { operationId, parameters } = operation;
      for (const { name, required, example } of parameters)
        if (required && example === undefined) problems.push([operationId, name]);
      return contentsOf(operation).map(async ({ of, type, schema, example }) => {
        const found =
          example === undefined ? ['no example'] : await described.problemsIn(textOf(example), type, schema);
        if (found.length > 0) problems.push([operationId, of, type, ...found]);
      });
    });
    await Promise.all(checks);
    expect(problems).toEqual([]);
    const posted = described.operation('postVoucher').requestBody?.content['application/json'];
    const wrong = JSON.stringify({ ...(posted?.example as object), programId: 'x' });
    expect(await described.problemsIn(wrong, 'application/json', posted?.schema ?? {})).not.toEqual([]);
  });

  it('of posts match the description and are accepted', async () => {
    const examples = described.operations.flatMap((operation) =>
      Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema, example }]) => {
        const body = typeof example === 'string' ? example : JSON.stringify(example);
        return { operation, id: routedId(operation), type, schema, body };
      }),
    );
    const problems = await Promise.all(
      examples.map(async ({ id, type, schema, body }) => [
        id,
        await described.problemsIn(body, type, schema),
      ]),
    );
    expect(problems).toEqual(examples.map(({ id }) => [id, []]));
    for (const { operation, id, type, body } of examples) {
      const answer = await ask([
        id,
        targetOf(operation, { extension: 'xml', ...idsFor(operation) }),
        { headers: { 'content-type': type }, body },
      ]);
      expect([id, type, answer.statusCode < 300 ? '' : answer.body]).toEqual([id, type, '']);
      expect(answer.body).not.toMatch(/"code"|<code>/);
    }
  });

  it('of keys are accepted', async () => {
    const answers: (readonly [id: string, extension: string, answer: Response])[] = [];
    for (const operation of described.operations.filter(({ requestBody }) => requestBody === undefined)) {
      const id = routedId(operation);
      for (const extension of extensionsOf(operation)) {
        const answer = await ask([id, targetOf(operation, { extension, ...idsFor(operation) })]);
        expect([id, extension, answer.statusCode < 300 ? '' : answer.body]).toEqual([id, extension, '']);
        const csv = contentsOf(operation).find(({ type }) => type === 'text/csv')?.example;
        if (extension === 'csv') expect(textOf(csv)).toMatch(answer.body.slice(0, answer.body.indexOf('\n')));
        answers.push([id, extension, answer]);
      }
    }
    const problems = await Promise.all(
      answers.map(async ([id, extension, answer]) => [
        ...[id, extension, await described.problemsOf(id, answer)],
      ]),
    );
    expect(problems).toEqual(answers.map(([id, extension]) => [id, extension, []]));
  });
});
