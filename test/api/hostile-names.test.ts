import { forbiddenCharacter } from '../../src/wire/xml/write';
import { claimOf, CLAIM_NETWORK, CLAIM_TOKENS } from './claim-network';
import { HOSTILE_NAMES } from './hostile-values';
import { FEEDS, TOKENS } from './network';
import { product } from './posted';
import { subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, PATH, reportOf } from './transaction-network';
import { voucher, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, () => ({}));

/** Each path that names unknown fields: who posts, and the body with fields of other names in addition. */
const TARGETS = [
  ['/1.0/vouchers', VOUCHER_TOKENS.nord, (odd: object) => voucher(odd)],
  ['/1.0/vouchers/bulk', VOUCHER_TOKENS.nord, (odd: object) => [voucher(odd)]],
  [PATH, CONVERSION_TOKENS.nord, (odd: object) => reportOf('NAMES', odd)],
  [`${PATH}/bulk`, CONVERSION_TOKENS.nord, (odd: object) => [reportOf('NAMES', odd)]],
  [`${PATH}/transitions/bulk`, CONVERSION_TOKENS.nord, (odd: object) => [odd]],
  [SUBSCRIPTIONS, CONVERSION_TOKENS.nord, (odd: object) => ({ ...subscription(), ...odd })],
  ['/1.0/claims', CLAIM_TOKENS.preisblick, (odd: object) => ({ claims: [claimOf('NAMES', odd)] })],
] as const;

/** As JSON.parse makes it: `__proto__` is a field like others. */
const bodyOf = (bodyWith: (odd: object) => object, name: string): string =>
  JSON.stringify(bodyWith({ HOSTILE: 1 })).replace('"HOSTILE"', JSON.stringify(name));

describe.each(TARGETS)('fields of hostile names posted to %s', (path, token, bodyWith) => {
  it.each(HOSTILE_NAMES)('are named in X-Ignored-Fields (decisions A15): %j', async (name, expected) => {
    const answer = await world.app.post(path, { token, body: bodyOf(bodyWith, name) });
    expect([answer.statusCode < 500, answer.headers['x-ignored-fields']]).toEqual([true, expected]);
  });
});

it.each(HOSTILE_NAMES)(
  'a product with a field of such a name is loaded, or refused for a character that XML forbids (decisions A15): %j',
  async (name, expected) => {
    const path = `/1.0/products;fid=${FEEDS.german}`;
    const body = bodyOf((odd) => ({ products: [product('a', odd)] }), name);
    const { statusCode, headers } = await world.app.post(path, { token: TOKENS.nord, body });
    const isRefused = forbiddenCharacter(name) !== undefined;
    expect([statusCode, headers['x-ignored-fields']]).toEqual(isRefused ? [400, undefined] : [200, expected]);
  },
);
