import { type Response } from '../support/app';
import { type Effect, EFFECTS } from './key-effects';
import { WHY_EFFECTS } from './why-key-effects';
import { TRANSACTION_EFFECTS } from './transaction-key-effects';
import { FEEDS } from './network';

const { german, swedish, shared } = FEEDS;

const eventsIn = ({ body }: Response): number => body.split('\n').length - 1;

/** Every key of reads of the log (decisions X107). */
const LOG_EFFECTS: readonly Effect[] = [
  ...WHY_EFFECTS,
  ['readLog', 'type=ClaimRuled', ';stream=claim-', ({ body }) => body.includes('ClaimFiled'), false],
  ['readLog', 'stream=claim-', '', ({ body }) => body.includes('ProductListed'), false],
  ['readLog', 'since=2999-01-01', '', eventsIn, 0],
  ['readLog', 'until=1999-12-31', '', eventsIn, 0],
  ['readLog', 'after=9007199254740991', ';limit=1', eventsIn, 0],
  ['readLog', 'upTo=0', '', eventsIn, 0],
  ['readLog', 'limit=2', '', eventsIn, 2],
  ['readLog', 'follow=true', ';limit=1', ({ headers }) => headers['x-accel-buffering'], 'no'],
  ['askSql', 'q=SELECT%207%20AS%20n', '', ({ body }) => body, '{"n":7}\n'],
];

const versions = ({ statusCode, body }: Response): readonly unknown[] | number =>
  statusCode === 200
    ? (JSON.parse(body) as { version?: number }[]).map(({ version }) => version)
    : statusCode;

/** Every key of histories (decisions X109). */
const HISTORY_EFFECTS: readonly Effect[] = [
  ['getHistory', 'at=1999-12-31', '', versions, 404],
  ['getHistory', 'position=0', '', versions, 404],
  ['getHistory', 'version=2', '', versions, [2]],
  ['getHistory', 'diff=1,2', '', versions, [undefined]],
  ['getHistory', 'after=1', '', (answer) => (versions(answer) as readonly unknown[])[0], 2],
  ['getHistory', 'limit=1', '', versions, [1]],
  ['getProductHistory', 'after=99', '', versions, []],
  ['getProductHistory', 'limit=0', '', versions, 400],
  ['getProductHistory', 'at=1999-12-31', '', versions, 404],
  ['getProductHistory', 'position=0', '', versions, 404],
  ['getProductHistory', 'version=0', '', versions, 400],
  ['getProductHistory', 'diff=1,2', '', versions, [undefined]],
];

export const AS_OF_VIEWS = [
  ['searchProducts', 'searchProductsAsOf', ';asOf=now;publisher=11'],
  ['listVouchers', 'listVouchersAsOf', ';asOf=now;advertiser=1'],
  ['listTransactions', 'listTransactionsAsOf', ';asOf=now;advertiser=1'],
  ['totalTransactions', 'totalTransactionsAsOf', ';asOf=now;advertiser=1'],
] as const;

const feedOf = (id: string): string => (id === 'searchProductsAsOf' ? `;fid=${german}` : '');
const NOT_AS_OF = /^(format|csv|since)/;
const statusCode: Effect[3] = (answer) => answer.statusCode;
const says =
  (text: string): Effect[3] =>
  ({ body }) =>
    body.includes(text);

/** Every key of read models as of a time: those of lists as of now have the same effects (decisions X111). */
const AS_OF_EFFECTS: readonly Effect[] = [
  ...AS_OF_VIEWS.flatMap(([id, past, view]): readonly Effect[] => [
    ...[...EFFECTS, ...TRANSACTION_EFFECTS]
      .filter(([one, sent, beside]) => one === id && !NOT_AS_OF.test(sent) && !beside.includes('format'))
      .map(([, sent, beside, show, shown]): Effect => [past, sent, `${beside}${view}`, show, shown]),
    [past, 'asOf=none', `${feedOf(past)};publisher=11`, statusCode, 404],
  ]),
  ...(['searchProductsAsOf', 'listVouchersAsOf'] as const).flatMap((id): readonly Effect[] => [
    [id, 'publisher=11', `${feedOf(id)};asOf=now`, statusCode, 200],
    [id, 'advertiser=1', `${feedOf(id)};asOf=now`, statusCode, 200],
  ]),
  ['listTransactionsAsOf', 'publisher=13', ';asOf=now', ({ body }) => body, '[]'],
  ['listTransactionsAsOf', 'advertiser=3', ';asOf=now', statusCode, 400],
  ['totalTransactionsAsOf', 'publisher=13', ';asOf=now', ({ body }) => body, '[]'],
  ['totalTransactionsAsOf', 'advertiser=3', ';asOf=now', statusCode, 400],
  [
    'totalTransactionsAsOf',
    'format=csv',
    ';asOf=now',
    ({ headers }) => headers['content-type'],
    'text/csv; charset=utf-8',
  ],
  ['listNetworkClaims', 'asOf=none', '', statusCode, 404],
  ['buildAsOf', 'name=No', ';projection=vouchers;at=2026-01-01', says('No: expected a name'), true],
  ['buildAsOf', 'projection=none', ';name=x;at=2026-01-01', says('none: expected the name'), true],
  ['buildAsOf', 'at=x', ';name=x;projection=vouchers', says('at=x: expected a time'), true],
  ['buildAsOf', 'position=x', ';name=x;projection=vouchers', says('position=x: expected'), true],
];

/** Every key of operators' actions (decisions X117). */
const ACTION_EFFECTS: readonly Effect[] = [
  ...[
    ['unmapName', `;fid=${german};name=x`],
    ['changeMappings', ''],
    ['releaseClaim', ';versionNo=9'],
    ['rejectClaim', ';versionNo=9;statusId=211'],
    ['buildAsOf', ';name=No;projection=vouchers;at=2026-01-01'],
    ['dropAsOf', ''],
    ['makeBackup', ';name=none'],
    ['pauseProjections', ';name=claims'],
    ['resumeProjections', ';name=claims'],
    ['rebuildProjections', ';name=none'],
    ['verifyProjections', ';name=none'],
    ['swapProjections', ';name=claims'],
    ['rollbackProjections', ';name=claims'],
    ['discardGenerations', ';name=claim-batches'],
    ['retryParked', ';name=none'],
    ['redeliverAnyMessage', ''],
    ['redeliverAnyMessages', ';minTime=2020-01-01;maxTime=2040-01-01'],
    ['enableAnyReceiver', ''],
    ['testAnyReceiver', ''],
    ['restoreFeed', ''],
    ['setAnySource', ''],
    ['removeAnySource', `;fid=${shared}`],
    ['fetchAnySource', `;fid=${german}`],
    ['acceptAnySource', `;fid=${swedish}`],
  ].map(([id = '', beside = '']): Effect => [
    id,
    `reason=${'x'.repeat(1001)}`,
    beside,
    says('expected a text of 1 to 1000 characters'),
    true,
  ]),
  ['removeAnySource', `fid=${shared}`, '', statusCode, 204],
  ['fetchAnySource', `fid=${german}`, '', statusCode, 204],
  ['acceptAnySource', `fid=${swedish}`, ';reason=x', statusCode, 204],
  ['listAnySources', `fid=${german}`, '', (one) => one.json<object[]>().length, 1],
  ['makeBackup', 'name=..', ';name=none', says('name=..: expected'), true],
  ['verifyBackup', 'name=..', ';name=none', says('name=..: expected'), true],
  ['listTokens', 'organisationId=999', '', statusCode, 400],
  ['listActions', 'limit=0', '', statusCode, 400],
  ['listActions', 'before=0', '', ({ body }) => body, '[]'],
  ['listActions', 'action=rebuild', '', ({ body }) => body, '[]'],
];

/** Every key of operations on read models (decisions X122). */
const PROJECTION_EFFECTS: readonly Effect[] = [
  ['listProjections', 'name=products', '', ({ body }) => body.includes('price-history'), false],
  ['pauseProjections', 'name=none', '', says('none: expected the name'), true],
  ['resumeProjections', 'name=none', '', says('none: expected the name'), true],
  ['rebuildProjections', 'name=none', '', says('none: expected the name'), true],
  ['rebuildProjections', 'force=x', ';name=feeds', statusCode, 400],
  ['rebuildProjections', 'swap=x', ';name=feeds', statusCode, 400],
  ['verifyProjections', 'name=none', '', says('none: expected the name'), true],
  ['verifyProjections', 'sample=0', ';name=feeds', says('sample=0: expected a number'), true],
  ['getVerification', 'name=claims', '', statusCode, 404],
  ['getVerification', 'sample=true', ';name=feeds', statusCode, 404],
  ['swapProjections', 'name=none', ';reason=x', says('none: expected the name'), true],
  ['swapProjections', 'force=x', ';name=claims;reason=x', statusCode, 400],
  ['rollbackProjections', 'name=none', ';reason=x', says('none: expected the name'), true],
  ['rollbackProjections', 'force=x', ';name=claims;reason=x', statusCode, 400],
  ['discardGenerations', 'name=none', ';reason=x', says('none: expected the name'), true],
];

/** Every key of what operators do about parked documents and notifications (decisions X130, X132). */
const MENDING_EFFECTS: readonly Effect[] = [
  ['listParked', 'name=vouchers', '', ({ body }) => body, '[]'],
  ['retryParked', 'name=none', '', says('none: expected the name'), true],
  ['retryParked', 'id=none', ';name=vouchers', says('none is not parked'), true],
  ['skipParked', 'name=vouchers', ';id=none;reason=x', says('none is not parked'), true],
  ['skipParked', 'id=none', ';name=vouchers;reason=x', says('none is not parked'), true],
  ['skipParked', 'reason=x', ';name=vouchers;id=none', says('none is not parked'), true],
  ['redeliverAnyMessages', 'minTime=x', ';maxTime=2040-01-01;dryRun=true', says("got 'x'"), true],
  ['redeliverAnyMessages', 'maxTime=x', ';minTime=2020-01-01;dryRun=true', says("got 'x'"), true],
  ...['receiverId', 'state', 'cursor', 'dryRun'].map((key): Effect => [
    ...(['redeliverAnyMessages', `${key}=x`, ';minTime=2020-01-01;maxTime=2040-01-01'] as const),
    ...([statusCode, 400] as const),
  ]),
  ['listDocuments', 'position=x', '', says('position=x: expected'), true],
  ['listDocuments', 'readModel=none', ';id=1', says('none: expected the name'), true],
  ['listDocuments', 'id=none', ';readModel=vouchers', statusCode, 200],
  ['listAnySubscriptions', 'organisationId=999', '', ({ body }) => body, '[]'],
  ['listAnySubscriptions', 'topic=claims', '', says('"topic":"transactions"'), false],
  ['listAnySubscriptions', 'offset=999', '', ({ body }) => body, '[]'],
  ['listAnySubscriptions', 'limit=0', '', statusCode, 400],
];

/** Every key of what operators read and do. */
export const OPERATOR_EFFECTS: readonly Effect[] = [
  ...LOG_EFFECTS,
  ...HISTORY_EFFECTS,
  ...AS_OF_EFFECTS,
  ...ACTION_EFFECTS,
  ...PROJECTION_EFFECTS,
  ...MENDING_EFFECTS,
];
