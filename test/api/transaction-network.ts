import { type Response, type TestApp } from '../support/app';
import { tokenNamed } from '../support/small-network';
import { JSON_UTF8 } from './posted';
import { NOW, VOUCHER_NETWORK } from './voucher-network';
import { worldOf } from './world';

/** Tokens for conversions of organisations of the network, each the same at any time. */
export const CONVERSION_TOKENS = {
  /** Advertiser 1: programs 101, 102, 103, and 104, which is paused. */
  nord: tokenNamed('conversions: nord'),
  /** Advertiser 2: program 201. */
  casa: tokenNamed('conversions: casa'),
  /** Publisher 11, its site 1101 only. */
  preisblick: tokenNamed('conversions: preisblick'),
  /** Publisher 11, all its sites. */
  preisblickAll: tokenNamed('conversions: preisblick, all sites'),
  /** Publisher 12, all its sites. */
  deals: tokenNamed('conversions: deals'),
  /** Publisher 13, without transactions. */
  lonely: tokenNamed('conversions: lonely'),
  operator: tokenNamed('conversions: operator'),
} as const;

export type ConversionClient = keyof typeof CONVERSION_TOKENS;
export const CONVERSION_CLIENTS = Object.keys(CONVERSION_TOKENS) as readonly ConversionClient[];

const SALE = { id: 301, name: 'Sale', kind: 'sale', pendingDays: 10, commission: { percent: 6 } } as const;
const LEAD = {
  id: 302,
  name: 'Newsletter',
  kind: 'lead',
  pendingDays: 0,
  commission: { fixed: 1.5 },
} as const;
const EVENTS = {
  101: [SALE, LEAD, { id: 305, name: 'Trial', kind: 'sale', pendingDays: 3, autoDeny: true }],
  102: [{ id: 303, name: 'Sale', kind: 'sale', pendingDays: 0, commission: { percent: 5 } }],
  104: [SALE],
  201: [{ id: 401, name: 'Sale', kind: 'sale', pendingDays: 14, commission: { percent: 8 } }],
} as const;

function withEvents(program: object): object {
  const { id } = program as { readonly id: keyof typeof EVENTS };
  return { ...program, ...(id in EVENTS ? { events: EVENTS[id] } : {}) };
}

const token = (organisationId: number, client: ConversionClient, siteId?: number) => ({
  organisationId,
  system: 'CONVERSIONS',
  token: CONVERSION_TOKENS[client],
  ...(siteId === undefined ? {} : { siteId }),
});

export const CONVERSION_NETWORK = {
  ...VOUCHER_NETWORK,
  organisations: [
    ...VOUCHER_NETWORK.organisations,
    { id: 99, kind: 'operator', name: 'Operations of conversions' },
  ],
  tokens: [
    ...VOUCHER_NETWORK.tokens,
    token(1, 'nord'),
    token(2, 'casa'),
    token(11, 'preisblick', 1101),
    token(11, 'preisblickAll'),
    token(12, 'deals'),
    token(13, 'lonely'),
    token(99, 'operator'),
  ],
  programs: VOUCHER_NETWORK.programs.map(withEvents),
} as const;

/** A report that becomes Pending: a sale of program 101 on site 1101; a field that is undefined is not posted. */
export function reportOf(orderNumber: string, changes: object = {}): Record<string, unknown> {
  return {
    programId: 101,
    eventId: 301,
    siteId: 1101,
    orderNumber,
    orderValue: 100,
    timeOfEvent: NOW - 60_000,
    ...changes,
  };
}

/** Every field of a report that is not required, but for its times. */
export const OPTIONAL = {
  mediaCost: 1.25,
  tdCommission: 2.5,
  adId: 7,
  locationId: 8,
  batchId: 9,
  epi: 'spring',
  epi2: 'two',
  productId: 77,
  visitorId: 'v-1',
} as const;

export interface Result {
  readonly transactionId: string;
  readonly legacyTransactionId: string;
  readonly messageTypeId: number;
  readonly errors?: readonly { readonly code: string; readonly message: string }[];
}

export const PATH = '/1.0/conversions/transactions';

/** Requests to a test's application, as one of the clients. */
export function transactionClientOf(app: () => TestApp) {
  const post = (path: string, body: unknown, as: ConversionClient): Promise<Response> =>
    app().post(`${PATH}${path}`, {
      token: CONVERSION_TOKENS[as],
      headers: JSON_UTF8,
      body: JSON.stringify(body),
    });
  return {
    report: (body: unknown, as: ConversionClient = 'nord') => post('', body, as),
    reportAll: (body: unknown, as: ConversionClient = 'nord') => post('/bulk', body, as),
    move: (body: unknown, as: ConversionClient = 'nord') => post('/transitions', body, as),
    moveAll: (body: unknown, as: ConversionClient = 'nord') => post('/transitions/bulk', body, as),
    get: (path: string, as: ConversionClient = 'nord'): Promise<Response> =>
      app().get(`${PATH}${path}`, { token: CONVERSION_TOKENS[as] }),
    /** Reports a transaction that has to be taken. */
    create: async (
      orderNumber: string,
      changes: object = {},
      as: ConversionClient = 'nord',
    ): Promise<Result> => {
      const answer = await post('', reportOf(orderNumber, changes), as);
      expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
      return answer.json<Result>();
    },
  };
}

/** One application for the tests of a file. */
export const transactionWorld = () => worldOf(CONVERSION_NETWORK, transactionClientOf);
