import { createHash } from 'node:crypto';
import { type Response } from '../support/app';
import { type Effect } from './key-effects';
import { reportOf } from './transaction-network';
import { NOW } from './voucher-network';

const [SECOND, HOUR] = [1000, 3_600_000];

/** What `test/api/keys.test.ts` reports, in order: when, and what. */
export const REPORTED = [
  [
    NOW - 3 * SECOND,
    reportOf('K-3', { programId: 102, eventId: 303, siteId: 1102, timeOfEvent: NOW - 3 * HOUR }),
  ],
  [NOW - 2 * SECOND, reportOf('K-1', { timeOfEvent: NOW - HOUR, epi: 'a' })],
  [NOW - SECOND, reportOf('K-2', { eventId: 302, siteId: 1202, timeOfEvent: NOW - 2 * HOUR })],
] as const;

/** The id of K-1. */
export const REPORTED_ID = createHash('sha256').update('K-1_301_1_program101').digest('hex').slice(0, 32);

/** Keys of the list and of totals, and the one transaction that remains. */
const FILTERS = [
  [`transactionId=${REPORTED_ID}`, 'K-1'],
  ['legacyTransactionId=K-2_302_1', 'K-2'],
  ['programId=102', 'K-3'],
  ['siteId=1202', 'K-2'],
  ['eventId=301', 'K-1'],
  ['eventTypeId=4', 'K-2'],
  ['messageTypeId=4', 'K-1'],
  ['orderNumber=K-3', 'K-3'],
  ['epi=a', 'K-1'],
  ['currencyId=SEK', 'K-3'],
  [`minTimeOfEvent=${NOW - HOUR}`, 'K-1'],
  [`maxTimeOfEvent=${NOW - 3 * HOUR}`, 'K-3'],
  [`minChanged=${NOW - SECOND}`, 'K-2'],
  [`maxChanged=${NOW - 3 * SECOND}`, 'K-3'],
  [`minApproved=${NOW - SECOND}`, 'K-2'],
  [`maxApproved=${NOW - 3 * SECOND}`, 'K-3'],
] as const;

const TOTAL_OF = { 'K-1': 'EUR 4', 'K-2': 'EUR 5', 'K-3': 'SEK 5' } as const;

const listed = (answer: Response) => answer.json<readonly Record<string, unknown>[]>();
const orders = (answer: Response) => listed(answer).map(({ orderNumber }) => orderNumber);
const states = (answer: Response) => listed(answer).map(({ stateName }) => stateName);
const totals = (answer: Response) =>
  listed(answer).map(({ currencyId, messageTypeId }) => `${String(currencyId)} ${String(messageTypeId)}`);
const typeOfTime = ({ body }: Response) => /"timeOfEvent":\d/.test(body);

/** Every key of the operations that read transactions (decisions T6). */
export const TRANSACTION_EFFECTS: readonly Effect[] = [
  ...FILTERS.flatMap(([sent, order]): readonly Effect[] => [
    ['listTransactions', sent, '', orders, [order]],
    ['totalTransactions', sent, '', totals, [TOTAL_OF[order]]],
  ]),
  ['listTransactions', 'orderBy=changed', '', orders, ['K-2', 'K-1', 'K-3']],
  ['listTransactions', 'since=*', '', orders, ['K-3', 'K-1', 'K-2']],
  ['listTransactions', 'sortOrder=asc', '', orders, ['K-3', 'K-2', 'K-1']],
  ['listTransactions', 'pageSize=2', '', orders, ['K-1', 'K-2']],
  ['listTransactions', 'page=1', ';pageSize=2', orders, ['K-3']],
  ['listTransactions', 'cursor=*', ';pageSize=2', ({ headers }) => 'x-next-cursor' in headers, true],
  ['listTransactions', 'format=csv', '', ({ headers }) => headers['content-type'], 'text/csv; charset=utf-8'],
  [
    'totalTransactions',
    'groupBy=programId',
    ';currencyId=SEK',
    (answer) => listed(answer)[0]?.['programId'],
    102,
  ],
  [
    'totalTransactions',
    'periodOf=approved',
    ';groupBy=day',
    (answer) => listed(answer)[0]?.['periodOf'],
    'approved',
  ],
  [
    'totalTransactions',
    'format=csv',
    '',
    ({ headers }) => headers['content-type'],
    'text/csv; charset=utf-8',
  ],
  ['getTransactionHistory', 'pageSize=1', '', states, ['Tracked']],
  ['getTransactionHistory', 'page=1', ';pageSize=1', states, ['Pending']],
  ...(['listTransactions', 'getTransaction', 'getTransactionHistory'] as const).map((id): Effect => [
    id,
    'dateOutputFormat=epoch',
    '',
    typeOfTime,
    true,
  ]),
];
