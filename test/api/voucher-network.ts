import { type Response, TestApp } from '../support/app';
import { tokenNamed } from '../support/small-network';
import { NETWORK } from './network';
import { JSON_UTF8 } from './posted';

/** Tokens for vouchers of organisations of the network, each the same at any time. */
export const VOUCHER_TOKENS = {
  /** Advertiser 1: programs 101, 102, 103, and 104, which is paused. */
  nord: tokenNamed('vouchers: nord'),
  /** Advertiser 2: program 201. */
  casa: tokenNamed('vouchers: casa'),
  /** Publisher 11, its site 1101 only: programs 101, 104 and 201. */
  preisblick: tokenNamed('vouchers: preisblick'),
  /** Publisher 11, all its sites: program 102 too, by 1102. */
  preisblickAll: tokenNamed('vouchers: preisblick, all sites'),
  /** Publisher 12, all its sites: programs 102 (site 1201) and 101 (sites 1202 and 1203). */
  deals: tokenNamed('vouchers: deals'),
  /** Publisher 13, connected to nothing. */
  lonely: tokenNamed('vouchers: lonely'),
} as const;

export type VoucherClient = keyof typeof VOUCHER_TOKENS;
export const VOUCHER_CLIENTS = Object.keys(VOUCHER_TOKENS) as readonly VoucherClient[];

const { nord, casa, preisblick, preisblickAll, deals, lonely } = VOUCHER_TOKENS;

export const VOUCHER_NETWORK = {
  ...NETWORK,
  tokens: [
    { organisationId: 1, system: 'VOUCHERS', token: nord },
    { organisationId: 2, system: 'VOUCHERS', token: casa },
    { organisationId: 11, system: 'VOUCHERS', siteId: 1101, token: preisblick },
    { organisationId: 11, system: 'VOUCHERS', token: preisblickAll },
    { organisationId: 12, system: 'VOUCHERS', token: deals },
    { organisationId: 13, system: 'VOUCHERS', token: lonely },
    ...NETWORK.tokens.filter(({ system }) => system !== 'VOUCHERS'),
  ],
  programs: [
    ...NETWORK.programs,
    { id: 104, organisationId: 1, name: 'Nordlicht FR', country: 'FR', currency: 'EUR', status: 'paused' },
  ],
  connections: [...NETWORK.connections, { siteId: 1101, programId: 104 }],
} as const;

/** What time it is where these tests play. */
export const NOW = Date.parse('2026-03-01T12:00:00Z');
export const DAY = 24 * 60 * 60 * 1000;

/** A voucher that is taken, of program 101, valid for a month from now; a field that is undefined is not posted. */
export function voucher(changes: object = {}): Record<string, unknown> {
  return {
    title: 'Free delivery',
    programId: 101,
    voucherTypeId: 4,
    shortDescription: 'Nothing to pay for delivery',
    description: 'Whatever you order is delivered for nothing.',
    startDate: NOW,
    endDate: NOW + 30 * DAY,
    ...changes,
  };
}

/** A voucher as JSON lists it. */
export interface Listed {
  readonly id: number;
  readonly [field: string]: unknown;
}

/** Requests to a test's application, as one of the clients. */
export function voucherClientOf(app: () => TestApp) {
  return {
    post: (body: object, as: VoucherClient = 'nord'): Promise<Response> =>
      app().post('/1.0/vouchers', {
        token: VOUCHER_TOKENS[as],
        headers: JSON_UTF8,
        body: JSON.stringify(body),
      }),
    /** Posts a voucher that has to be taken; gives its id. */
    create: async (changes: object = {}, as: VoucherClient = 'nord'): Promise<number> => {
      const answer = await app().post('/1.0/vouchers', {
        token: VOUCHER_TOKENS[as],
        body: JSON.stringify(voucher(changes)),
      });
      expect([answer.statusCode, answer.body]).toEqual([200, expect.stringMatching(/^\[\d+\]$/)]);
      return answer.json<[number]>()[0];
    },
    get: (keys: string, as: VoucherClient = 'preisblick'): Promise<Response> =>
      app().get(`/1.0/vouchers${keys}`, { token: VOUCHER_TOKENS[as] }),
    /** A listing that has to be answered. */
    list: async (keys = '', as: VoucherClient = 'preisblick'): Promise<readonly Listed[]> => {
      const answer = await app().get(`/1.0/vouchers${keys}`, { token: VOUCHER_TOKENS[as] });
      expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
      return answer.json();
    },
    remove: (id: number | string, as: VoucherClient = 'nord'): Promise<Response> =>
      app().delete(`/1.0/vouchers/${id}`, { token: VOUCHER_TOKENS[as] }),
  };
}

/** One application for the tests of a file: each finds it at `NOW` and without vouchers. */
export function voucherWorld() {
  let app: TestApp;
  let now = NOW;
  const client = voucherClientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
  });
  afterEach(async () => {
    for (const owner of ['nord', 'casa'] as const)
      await Promise.all(idsOf(await client.list('', owner)).map((id) => client.remove(id, owner)));
    now = NOW;
  });
  afterAll(() => app.close());
  return {
    ...client,
    get app(): TestApp {
      return app;
    },
    /** Lets it be another time. */
    passTo: (time: number): void => {
      now = time;
    },
  };
}

export const idsOf = (listed: readonly Listed[]): readonly number[] => listed.map(({ id }) => id);

/** The codes and the whole of the messages of an answer that refuses. */
export function refusalOf(answer: Response): { readonly codes: string; readonly message: string } {
  const { errors = [] } = answer.json<{ errors?: { code: string; message: string }[] }>();
  const codes = [answer.statusCode, ...errors.map(({ code }) => code)].join(' ');
  return { codes, message: errors.map(({ message }) => message).join('; ') };
}
