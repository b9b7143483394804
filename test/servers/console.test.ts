import { PAGES } from '../../src/console/pages';
import { ConsoleBrowser } from '../support/console-browser';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { removeFolder, Server, temporaryFolder } from '../support/server';
import { ownStore } from './server';

describe('The console over EventStoreDB and Elasticsearch, in a browser (decisions X124)', () => {
  const store = ownStore();
  let esdb: EsdbServer;
  let folder: string;
  let backups: string;
  let server: Server;
  let shown: ConsoleBrowser;

  beforeAll(async () => {
    esdb = await startEsdbServer();
    [folder, backups] = [await temporaryFolder(), await temporaryFolder()];
    const environment = { EVENT_LOG: esdb.url, READ_STORE: store.url, BACKUP_DIR: backups };
    server = await Server.start(folder, { args: ['--demo'], environment });
    shown = await ConsoleBrowser.open(server);
  });
  afterAll(async () => {
    await shown.browser.close();
    expect(await server.end()).toBe(0);
    await store.remove();
    await esdb.stop();
    for (const one of [folder, backups]) await removeFolder(one);
  });

  it('shows each page without complaints, within the screen', async () => {
    const page = await shown.logIn(await shown.browser.newContext());
    for (const { name } of PAGES) await shown.expectFit(page, name);
  });
});
