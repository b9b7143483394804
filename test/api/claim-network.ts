import { type Response, type TestApp, type TestRequest } from '../support/app';
import { tokenNamed } from '../support/small-network';
import { JSON_UTF8, XML_UTF8 } from './posted';
import { CONVERSION_NETWORK } from './transaction-network';
import { worldOf } from './world';

/** Tokens for claims of organisations of the network, each the same at any time. */
export const CLAIM_TOKENS = {
  /** Advertiser 1: programs 101, 102, 103, and 104, which is paused. */
  nord: tokenNamed('claims: nord'),
  /** Advertiser 2: program 201. */
  casa: tokenNamed('claims: casa'),
  /** Publisher 11, its site 1101 only. */
  preisblick: tokenNamed('claims: preisblick'),
  /** Publisher 11, all its sites. */
  preisblickAll: tokenNamed('claims: preisblick, all sites'),
  /** Publisher 12, all its sites. */
  deals: tokenNamed('claims: deals'),
  /** Publisher 13, connected to nothing. */
  lonely: tokenNamed('claims: lonely'),
} as const;

export type ClaimClient = keyof typeof CLAIM_TOKENS;

const token = (organisationId: number, client: ClaimClient, siteId?: number) => ({
  organisationId,
  system: 'CLAIMS',
  token: CLAIM_TOKENS[client],
  ...(siteId === undefined ? {} : { siteId }),
});

/** The inquiry event of all programs. */
export const INQUIRY = 17;
const EVENT = {
  ...{ id: INQUIRY, name: 'Inquiry', kind: 'sale', pendingDays: 30, inquiry: true },
  commission: { percent: 10 },
} as const;

export const CLAIM_NETWORK = {
  ...CONVERSION_NETWORK,
  tokens: [
    ...CONVERSION_NETWORK.tokens.filter(({ system }) => system !== 'CLAIMS'),
    token(1, 'nord'),
    token(2, 'casa'),
    token(11, 'preisblick', 1101),
    token(11, 'preisblickAll'),
    token(12, 'deals'),
    token(13, 'lonely'),
  ],
  programs: CONVERSION_NETWORK.programs.map((program) => {
    const { id, events = [] } = program as { readonly id: number; readonly events?: readonly object[] };
    return { ...program, id, acceptsClaims: true, daysToAutoApprove: 30, events: [...events, EVENT] };
  }),
} as const;

/**
 * A claim that awaits approval: of the inquiry event of program 101 on site 1101; a field that is undefined is not
 * posted.
 */
export function claimOf(orderNumber: string, changes: object = {}): Record<string, unknown> {
  return {
    affiliateSiteId: 1101,
    programId: 101,
    timeStampEvent: '2026-02-20',
    eventId: INQUIRY,
    orderNumber,
    orderValue: 100,
    expectedCommission: 7.5,
    ...changes,
  };
}

/** A claim as JSON lists it. */
export interface Listed {
  readonly claimId: number;
  readonly statusId: number;
  readonly versionNo: number;
  readonly orderNumber: string;
  readonly [field: string]: unknown;
}

const ELEMENTS: Readonly<Record<string, string>> = { claims: 'claim', claimUpdates: 'claimUpdate' };

/** The XML of a posted list, in the namespaces of the document. */
export function xmlOf(root: 'claims' | 'claimUpdates', items: readonly object[]): string {
  const each = ELEMENTS[root] ?? '';
  const escaped = (value: unknown) => String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const fields = (item: object) =>
    Object.entries(item)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `<c:${name}>${escaped(value)}</c:${name}>`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<${root} version="1.0" xmlns="urn:com:affilog:uts:openapi:parsing:xml:input"`,
    ' xmlns:c="urn:com:affilog:uts:openapi:parsing:xml:common">',
    ...items.map((item) => `<${each}>${fields(item).join('')}</${each}>`),
    `</${root}>`,
  ].join('\n');
}

/** Requests to a test's application, as one of the clients. */
export function claimClientOf(app: () => TestApp) {
  const send = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    as: ClaimClient,
    request: TestRequest = {},
  ): Promise<Response> => app().request(method, `/1.0${path}`, { token: CLAIM_TOKENS[as], ...request });
  const json = (path: string, body: unknown, as: ClaimClient): Promise<Response> =>
    send('POST', path, as, { headers: JSON_UTF8, body: JSON.stringify(body) });
  return {
    send,
    json,
    xml: (path: string, body: string, as: ClaimClient): Promise<Response> =>
      send('POST', path, as, { headers: XML_UTF8, body }),
    file: (claims: readonly object[], as: ClaimClient = 'preisblick'): Promise<Response> =>
      json('/claims', { claims }, as),
    rule: (claimUpdates: readonly object[], as: ClaimClient = 'nord'): Promise<Response> =>
      json('/claimUpdates', { claimUpdates }, as),
    /** A list that has to be answered. */
    list: async (keys = '', as: ClaimClient = 'preisblick'): Promise<readonly Listed[]> => {
      const answer = await send('GET', `/claims${keys}`, as);
      expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
      return answer.json();
    },
    /** Files a claim that has to be taken, and returns it as it is listed. */
    create: async (
      orderNumber: string,
      changes: object = {},
      as: ClaimClient = 'preisblick',
    ): Promise<Listed> => {
      const answer = await json('/claims', { claims: [claimOf(orderNumber, changes)] }, as);
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
      await app().settled();
      const listed = await send('GET', '/claims', as);
      const found = listed.json<Listed[]>().find((claim) => claim.orderNumber === orderNumber);
      if (found === undefined) throw new Error(`claim ${orderNumber} is not listed`);
      return found;
    },
  };
}

/** One application for the tests of a file. */
export const claimWorld = () => worldOf(CLAIM_NETWORK, claimClientOf);

/** The codes and messages of an error list in JSON. */
export function errorsIn(answer: Response): readonly string[] {
  return answer
    .json<{ readonly errors: readonly { readonly code: string; readonly message: string }[] }>()
    .errors.map(({ code, message }) => `${code} ${message}`);
}
