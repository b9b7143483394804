import { NETWORK } from '../support/server';

export const TOKENS = { advertiser: 'c'.repeat(40), publisher: 'd'.repeat(40) } as const;

const SALE = { id: 1011, name: 'Sale', kind: 'sale', pendingDays: 30 };

/** The network of a server, with an event of which sales are reported, and tokens for that. */
export const WITH_SALES = {
  ...NETWORK,
  tokens: [
    { token: TOKENS.advertiser, organisationId: 1, system: 'CONVERSIONS' },
    { token: TOKENS.publisher, organisationId: 11, system: 'CONVERSIONS' },
  ],
  programs: NETWORK.programs.map((program) => ({ ...program, events: [SALE] })),
};

/** Of each sale a message says that it is tracked, and another one that it is pending. */
export const STATES = [1, 4];

/** A sale as an advertiser reports it. */
export const saleOf = (orderNumber: string) => ({
  ...{ programId: 101, eventId: SALE.id, siteId: 1101, orderNumber, orderValue: 10 },
});

/** Posts to the conversions of a server, which must accept it. */
export async function postConversions<T>(
  url: string,
  path: string,
  token: string,
  body: unknown,
): Promise<T> {
  const answer = await fetch(`${url}/1.0/conversions/${path}?token=${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  });
  expect([path, answer.ok, answer.headers.get('x-log-position')]).toEqual([path, true, expect.any(String)]);
  return (await answer.json()) as T;
}
