import { heavyProduct, HEAVY_NETWORK } from '../../support/heavy-reads';
import {
  folderWithNetwork,
  freePort,
  postProducts,
  PUBLISHER,
  removeFolder,
  Server,
  temporaryFolder,
} from '../../support/server';

/** The endpoint of another server serves its log read-only, as an EventStoreDB does to a user who may only read. */
describe('a server whose EventStoreDB refuses appends', () => {
  let folders: readonly string[];
  let owner: Server;
  let server: Server;
  beforeAll(async () => {
    const folder = await folderWithNetwork({}, HEAVY_NETWORK);
    const own = await temporaryFolder();
    folders = [folder, own];
    const port = await freePort();
    owner = await Server.start(folder, { args: ['--esdb-port', String(port)] });
    const environment = { EVENT_LOG: `esdb://127.0.0.1:${port}?tls=false` };
    server = await Server.start(own, { environment, args: ['--roles', 'api,projector'] });
  });
  afterAll(async () => {
    await server.end();
    await owner.end();
    for (const folder of folders) await removeFolder(folder);
  });

  it('is not ready, and its log has the reason that health has (decisions X97, X87)', async () => {
    const answer = await postProducts(server.url, [heavyProduct(1)]);
    expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining('"code":"5"')]);
    const health = await fetch(`${server.url}/health/ready`);
    const { waiting } = (await health.json()) as { readonly waiting?: { readonly log?: string } };
    expect([health.status, waiting?.log]).toEqual([
      503,
      expect.stringMatching(/^the event log is not available: access is denied: /),
    ]);
    expect(server.stderr).toContain(JSON.stringify(waiting?.log).slice(1, -1));
  });

  it('still answers searches and downloads (decisions P18)', async () => {
    for (const path of ['products', 'productsUnlimited']) {
      const { status } = await fetch(`${server.url}/1.0/${path};fid=22?token=${PUBLISHER}`);
      expect([path, status]).toEqual([path, 200]);
    }
  });
});
