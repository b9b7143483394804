import { lastUses } from '../../src/network/token-uses';
import { appendFacts } from '../../src/network/append-facts';
import { tokenHash } from '../../src/network/organisations';
import { issueToken } from '../../src/operations/tokens';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { TestApp } from '../support/app';
import { eventsOf } from '../support/temporary-log';

let app: TestApp;
let present = new Date('2026-03-01T12:00:00Z');
beforeAll(async () => {
  app = await TestApp.start({ network: smallNetwork(), now: () => present });
});
afterAll(() => app.close());

const FEEDS = '/1.0/productFeeds.json';

test('a token is valid until it expires, then it is Open API 2 (decisions X94)', async () => {
  const { log } = app.engines;
  const { directory } = app.follower;
  const expires = '2026-03-02T00:00:00.000Z';
  const holder = { organisationId: 5, system: 'PRODUCTS', siteId: 51 } as const;
  const { token, fact } = issueToken(directory, holder, { at: present.toISOString(), expires });
  await appendFacts(SYSTEM_CLOCK, log, [fact], directory);
  await app.follower.reached(await log.head());
  expect((await app.get(FEEDS, { token })).statusCode).toBe(200);
  present = new Date('2026-03-01T23:59:59.999Z');
  expect((await app.get(FEEDS, { token })).statusCode).toBe(200);
  present = new Date(expires);
  const answer = await app.get(FEEDS, { token });
  expect([answer.statusCode, answer.json()]).toMatchObject([403, { errors: [{ code: '2' }] }]);
});

test('the last use of a token is remembered per day, not in the log, also across instances (decisions X94)', async () => {
  const used = tokenNamed('tarifkompass');
  const events = (await eventsOf(app.engines.log)).length;
  for (let request = 0; request < 3; request += 1)
    expect((await app.get(FEEDS, { token: used })).statusCode).toBe(200);
  // A token of another system is not used by a request that is refused.
  expect((await app.get(FEEDS, { token: tokenNamed('desk') })).statusCode).toBe(403);
  await app.tokenUses.flush();
  const hashes = [tokenHash(used), tokenHash(tokenNamed('desk'))];
  expect(await lastUses(app.engines.store, hashes)).toEqual(
    new Map([[tokenHash(used), present.toISOString().slice(0, 10)]]),
  );
  expect(await eventsOf(app.engines.log)).toHaveLength(events);
});
