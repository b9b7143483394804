import { followDirectory } from '../../src/directory/follower';
import { readinessOf } from '../../src/ops/readiness';
import { type ProductLoader } from '../../src/products/commands';
import { FEEDS, NETWORK, TOKENS } from '../api/network';
import { TestApp } from '../support/app';

let app: TestApp;
beforeEach(async () => {
  app = await TestApp.start({ network: NETWORK, paused: true });
});
afterEach(() => app.close());

const WELL = { status: 'ok', parked: 0, unexpectedFailures: 0 };

describe('health (docs/operations.md, Health)', () => {
  it('is live as long as the process answers', async () => {
    const answer = await app.get('/health/live');
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('is not ready, and says why, until the read models have seen what the log held at the start', async () => {
    const waiting = await app.get('/health/ready');
    expect([waiting.statusCode, waiting.headers['retry-after']]).toEqual([503, '1']);
    expect(waiting.json()).toEqual({
      ...WELL,
      status: 'waiting',
      waiting: { readModels: 'are catching up with the log' },
    });
    await app.project();
    const ready = await app.get('/health/ready');
    expect([ready.statusCode, ready.json()]).toEqual([200, WELL]);
  });

  it('stays ready while a later load is being projected', async () => {
    await app.project();
    expect((await app.get('/health/ready')).statusCode).toBe(200);
    const readiness = await readinessOf(app.engines, app.follower);
    await app.stopProjecting();
    await app.import({ organisations: [{ id: 77, kind: 'publisher', name: 'Later' }] });
    expect((await app.get('/health/ready')).json()).toEqual(WELL);
    expect(await readiness()).toEqual({ waiting: {}, parked: 0 });
  });

  it('waits for the directory', async () => {
    const stopped = followDirectory(app.engines.log, AbortSignal.abort());
    const readiness = await readinessOf(app.engines, stopped);
    expect(await readiness()).toMatchObject({ waiting: { directory: 'is catching up with the log' } });
  });

  it('tells which engine does not answer', async () => {
    const readiness = await readinessOf(app.engines, app.follower);
    await app.engines.close();
    expect(await readiness()).toEqual({ waiting: { log: 'does not answer', readModels: 'do not answer' } });
  });

  it('counts requests that have met a bug (decisions A12)', async () => {
    const fails = async () => Promise.reject(new TypeError('a bug'));
    const loader: ProductLoader = {
      open: fails,
      write: fails,
      finish: fails,
      abort: fails,
      remove: fails,
      close: fails,
    };
    const http = await app.again({ loader, readiness: async () => ({ waiting: {} }) });
    const url = `/1.0/products;fid=${FEEDS.german};spId=a?token=${TOKENS.nord}`;
    const answer = await http.inject({ method: 'DELETE', url });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { errors: [{ code: 'PF_230' }] }]);
    expect((await http.inject('/health/ready')).json()).toEqual({ status: 'ok', unexpectedFailures: 1 });
    await http.close();
  });
});
