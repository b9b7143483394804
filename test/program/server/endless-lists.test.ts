import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { NETWORK, ownServer } from '../../support/server';

const [VOUCHERS, CONVERSIONS, OPS] = ['d', 'e', 'f'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
];

const WITH_TOKENS = {
  ...NETWORK,
  organisations: [...NETWORK.organisations, { id: 99, kind: 'operator', name: 'Operations' }],
  tokens: [
    ...NETWORK.tokens,
    { token: VOUCHERS, organisationId: 1, system: 'VOUCHERS' },
    { token: CONVERSIONS, organisationId: 1, system: 'CONVERSIONS' },
    { token: OPS, organisationId: 99, system: 'OPS' },
  ],
};

/**
 * The routes that take lists of any size, with the most items of each. Attacks on all of them are in `test/hostile/`.
 */
const ROUTES = [
  ['/1.0/conversions/transactions/bulk', CONVERSIONS, '[', 10_000],
  ['/1.0/conversions/transactions/transitions/bulk', CONVERSIONS, '[', 10_000],
  ['/1.0/vouchers/bulk', VOUCHERS, '[', 1_000],
  ['/ops/1.0/mappings', OPS, '{"mappings":[', 10_000],
] as const;

describe('a list with too many items (decisions A20)', () => {
  const own = ownServer({ network: WITH_TOKENS });

  it.each(ROUTES)('is refused while it is still being sent: %s', async (path, token, head, most) => {
    const sent = request(`${own.server.url}${path}?token=${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    sent.on('error', () => undefined);
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    // The end never comes.
    sent.write(head + '{},'.repeat(most + 1) + '{}');
    const [answer] = await answered;
    expect([answer.statusCode, await text(answer)]).toEqual([
      400,
      expect.stringContaining(`expected at most ${most}`),
    ]);
    sent.destroy();
  });
});
