import { once } from 'node:events';
import { connect } from 'node:net';
import { type AppendExpectedRevision, EventStoreDBClient, jsonEvent, START } from '@eventstore/db-client';
import { folderWithNetwork, postProducts, removeFolder, runProgram, Server } from '../../support/server';

const FEED = 'feed-22';
const NO_EVENT: AppendExpectedRevision = 'any';

describe('A server with --esdb-port', () => {
  let folder: string;
  let server: Server;
  let client: EventStoreDBClient;
  beforeAll(async () => {
    folder = await folderWithNetwork();
    server = await Server.start(folder, { args: ['--esdb-port', '0', '--host', '0.0.0.0'] });
    client = EventStoreDBClient.connectionString(urlOf(server));
  });
  afterAll(async () => {
    await client.dispose();
    await server.end();
    await removeFolder(folder);
  });

  const typesOf = async (stream: string): Promise<readonly string[]> => {
    const types: string[] = [];
    for await (const { event } of client.readStream(stream)) types.push(event?.type ?? '');
    return types;
  };

  it('lets analysts replay events with an official client (decisions P23)', async () => {
    const product = {
      sourceProductId: 'a',
      name: 'Chair',
      description: 'Wooden',
      productUrl: 'https://shop.example/a',
      productImage: { url: 'https://shop.example/a.jpg' },
      categories: [{ id: '1' }],
      price: 10,
    };
    const posted = await postProducts(server.url, [product]);
    expect(posted.status).toBe(200);
    expect(await typesOf(FEED)).toEqual(['ProductListed', 'FeedImported']);
    const types = new Set<string>();
    for await (const { event } of client.readAll({ fromPosition: START })) types.add(event?.type ?? '');
    expect(types).toContain('OrganisationDefined');
  });

  it('listens only on the loopback interface, wherever it serves HTTP', async () => {
    const { hostname, port } = new URL(urlOf(server).replace('esdb:', 'http:'));
    expect(hostname).toBe('127.0.0.1');
    // Another address of this machine.
    const elsewhere = server.url.replace(/\/\/[^:]+/, '//127.0.0.2');
    expect((await fetch(`${elsewhere}/health/live`)).status).toBe(200);
    await expect(once(connect(Number(port), '127.0.0.2'), 'connect')).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });

  it('refuses writes with access denied', async () => {
    const written = client.appendToStream(FEED, jsonEvent({ type: 'Made', data: {} }), {
      expectedRevision: NO_EVENT,
    });
    await expect(written).rejects.toMatchObject({ type: 'access-denied' });
  });

  it('can be the source of a copy', async () => {
    const copied = await runProgram(['log', 'copy', '--from', urlOf(server), '--to', 'sqlite:'], {
      DATA_DIR: `${folder}/copy`,
    });
    expect(copied).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+ events in both logs, 0 of them copied earlier/),
      stderr: expect.stringMatching(
        /^copying the log: \d+ of \d+ events, \d+\/s, \d+ s left\n.*comparing the copy: /s,
      ),
    });
  });
});

/** The URL at which the server serves its log. */
function urlOf({ stdoutLines }: Server): string {
  return /^the log can be read at (esdb:\S+)$/m.exec(stdoutLines.join('\n'))?.[1] ?? '';
}
