import { START } from '../../src/kernel/event';
import { nameOf } from '../../src/projector/generations';
import { saveParked } from '../../src/projector/parked';
import { rebuildAsOf } from '../../src/operations/as-of';
import { rebuildProjections, verifyProjections } from '../../src/operations/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { changeSource } from '../../src/services/products/sources';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { type TestApp } from '../support/app';
import { CLAIM_TOKENS } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { CONVERSION_TOKENS } from './transaction-network';
import { VOUCHER_TOKENS } from './voucher-network';

/** A token of somebody for whom all of the network of claims is to be seen. */
export function tokenFor({ path, callers }: Operation): string {
  if (path.startsWith('/ops/')) return OTHER_TOKENS.operator;
  if (path.startsWith('/1.0/vouchers')) return VOUCHER_TOKENS.nord;
  if (path.startsWith('/1.0/conversions')) return CONVERSION_TOKENS.nord;
  if (/^\/1.0\/(claim|uts)/.test(path))
    return CLAIM_TOKENS[callers.includes('advertiser') ? 'nord' : 'preisblick'];
  if (path.startsWith('/1.0/products/subscriptions')) return TOKENS.nord;
  return callers.includes('publisher') ? TOKENS.preisblickAll : TOKENS.nord;
}

/** Read models as of the present. */
export async function buildNow(app: TestApp, name = 'now'): Promise<void> {
  await app.settled();
  const wanted = { name, projection: 'all', position: await app.engines.log.head() };
  await rebuildAsOf(app.engines, wanted, { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid() });
}

/** Former generations, generations that are ready, and comparisons. */
export async function rebuildSome(app: TestApp): Promise<void> {
  for (const then of ['swap', 'keep'] as const)
    await rebuildProjections(app.engines, ['feeds', 'imports'], { then });
  await verifyProjections(app.engines, ['feeds', 'vouchers']);
}

/** Parks documents of a read model, as a projector does that cannot fold an event. */
export async function park(app: TestApp, name: string, ...documents: readonly string[]): Promise<void> {
  const live = (await app.engines.store.generations(name)).find(({ state }) => state === 'live');
  const entry = { generation: nameOf(live!), position: START, asOf: START, error: 'unusable', code: 'test' };
  const parked = documents.map((document) => ({
    ...entry,
    document,
    stream: `other-${document}`,
    event: SYSTEM_CLOCK.uuid(),
  }));
  await saveParked(app.engines.store, parked);
}

/** A source of a feed whose last file was held. */
export async function holdSource(app: TestApp, feedId: number): Promise<void> {
  const { log } = app.engines;
  const at = SYSTEM_CLOCK.now().toISOString();
  const setting = { url: 'https://shop.example/held.json', minutes: 360 };
  const { state } = await changeSource(SYSTEM_CLOCK, log, feedId, { do: 'set', at, setting });
  if (state === undefined) return;
  const outcome = { is: 'held', listed: 10, removed: 6 } as const;
  await changeSource(SYSTEM_CLOCK, log, feedId, { do: 'conclude', at, began: state, outcome });
  await app.get(`/1.0/products/sources`, {
    token: TOKENS.nord,
    headers: { 'x-min-position': await log.head() },
  });
}

/** Keys that make a good request of an operation. */
export function goodKeys({ path, keys }: Operation): string {
  if (['/ops/1.0/projections', '/ops/1.0/parked'].includes(path)) return '';
  if (path === '/ops/1.0/documents') return ';readModel=feeds;id=1';
  const why = 'reason' in keys ? ';reason=test' : '';
  if (path.startsWith('/ops/1.0/projections/')) return `;name=feeds${why}`;
  if (path.startsWith('/ops/1.0/feeds/')) return why;
  if (path === '/ops/1.0/claims') return ';statusId=2,202';
  const feed = 'fid' in keys ? `;fid=${FEEDS.german}` : '';
  if ('asOf' in keys) return `${feed};asOf=now;publisher=11`;
  if (path === '/ops/1.0/why/voucher') return ';id=1';
  if (path === '/ops/1.0/why/delivery') return ';id=1';
  if (path === '/1.0/products/visibility' || path === '/ops/1.0/why/product')
    return `;fid=${FEEDS.german};spId=lamp`;
  return feed === '' && 'name' in keys ? ';name=x' : feed;
}
