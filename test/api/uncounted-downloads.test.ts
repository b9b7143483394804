import { TestApp } from '../support/app';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product } from './posted';

/** Only the log is on a server: products are read from SQLite. */
describe('a download while EventStoreDB is down (decisions P18)', () => {
  let server: EsdbServer;
  let app: TestApp;
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    server = await startEsdbServer();
    app = await TestApp.start({
      network: NETWORK,
      engines: { log: 'sqlite', store: 'sqlite' },
      settings: { EVENT_LOG: server.url },
    });
  });
  afterAll(async () => {
    await app.close();
    await server.stop();
  });

  const download = () => app.get(`/1.0/productsUnlimited;fid=${FEEDS.german}`, { token: TOKENS.preisblick });

  it('is answered, and counted when it is back', async () => {
    await post(FEEDS.german, [product('a')]);
    await app.settled();
    await server.kill();
    const answer = await download();
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('Product a');
    await server.start();
    expect((await download()).statusCode).toBe(200);
    const events = [];
    for await (const batch of app.engines.log.readStream(`download-${FEEDS.german}-11`))
      events.push(...batch);
    expect(events.map(({ type }) => type)).toEqual(['FeedDownloaded', 'FeedDownloaded']);
  });
});
