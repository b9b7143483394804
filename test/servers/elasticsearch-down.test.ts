import { setTimeout as pause } from 'node:timers/promises';
import { listParked } from '../../src/projector/parked';
import { FEEDS, NETWORK, TOKENS } from '../api/network';
import { clientOf, outcome, product } from '../api/posted';
import { TestApp } from '../support/app';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';
import { ownStore, serverUrl } from './server';

let proxy: FaultyElasticsearch;
let app: TestApp;
let remove: () => Promise<void>;
const { post, search } = clientOf(() => app);
const find = (keys = '') => app.get(`/1.0/products;fid=${FEEDS.german}${keys}`, { token: TOKENS.nord });
const idsFound = async () => (await search(`;fid=${FEEDS.german}`)).ids.toSorted();

beforeAll(async () => {
  proxy = await FaultyElasticsearch.start(new URL('/', serverUrl()).origin);
  const own = ownStore();
  remove = own.remove;
  const READ_STORE = new URL(new URL(own.url).pathname, proxy.url).href;
  app = await TestApp.start({ network: NETWORK, settings: { READ_STORE }, visibleWithin: 2_000 });
  expect(outcome(await post(FEEDS.german, [product('a')]))).toBe('200');
});
afterAll(async () => {
  proxy.fault = () => undefined;
  await app.close();
  await proxy.stop();
  await remove();
});

/** Everything posted is found, nothing is parked, and health reports no problem. */
async function expectWell(ids: readonly string[]): Promise<void> {
  proxy.fault = () => undefined;
  await app.settled();
  expect(await idsFound()).toEqual(ids);
  expect(await listParked(app.engines.store)).toEqual([]);
  let health = await app.get('/health/ready');
  while ('projector' in health.json<object>()) {
    await pause(5);
    health = await app.get('/health/ready');
  }
  expect(health.json()).toEqual({ status: 'ok', parked: 0, behind: 0, unexpectedFailures: 0 });
}

describe('The service over an Elasticsearch (docs/operations.md, When a server fails; decisions A12)', () => {
  it('that is write-protected accepts posts and finds earlier products', async () => {
    proxy.fault = ({ path }) =>
      path.includes('_bulk') ? { status: 403, error: 'cluster_block_exception' } : undefined;
    expect(outcome(await post(FEEDS.german, [product('b')]))).toBe('200');
    expect(await idsFound()).toEqual(['a']);
    expect((await app.get('/health/ready')).json()).toMatchObject({
      status: expect.stringMatching(/^(ok|degraded)$/),
      behind: expect.any(Number),
    });
    await expectWell(['a', 'b']);
  });

  it('that is overloaded accepts posts, answers searches with 500, and health reports why', async () => {
    proxy.fault = () => ({ status: 429 });
    expect(outcome(await post(FEEDS.german, [product('c')]))).toBe('200');
    const health = await app.get('/health/ready');
    expect([health.statusCode, health.json()]).toMatchObject([
      503,
      { waiting: { readModels: 'the read store is not available: it is overloaded' } },
    ]);
    const found = await find();
    expect([outcome(found), found.headers['retry-after']]).toEqual(['500 5', '5']);
    await expectWell(['a', 'b', 'c']);
  });

  it('that is slow answers late, without failures', async () => {
    proxy.fault = () => ({ delay: 100 });
    expect(outcome(await post(FEEDS.german, [product('late')]))).toBe('200');
    expect(outcome(await find())).toBe('200');
    await expectWell(['a', 'b', 'c', 'late']);
  });

  it('that does not respond delays a post by the usual wait after it is stored, and not before (decisions X8)', async () => {
    const before = proxy.asked.length;
    proxy.fault = () => 'silence';
    const asked = performance.now();
    expect(outcome(await post(FEEDS.german, [product('unseen')]))).toBe('200');
    expect(performance.now() - asked).toBeLessThan(9_000);
    expect(proxy.asked.length).toBeGreaterThan(before);
  });
});
