import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import {
  NETWORK,
  postProducts,
  PUBLISHER,
  removeFolder,
  runProgram,
  Server,
  temporaryFolder,
} from '../../support/server';

/** Number of posts, one after the other, while the server and other programs append too. */
const POSTS = 30;
const PRODUCTS = [...generateProducts({ count: POSTS + 1, categories: [{ id: '1' }] })];

let esdb: EsdbServer;
let folder: string;
let server: Server;

beforeAll(async () => {
  esdb = await startEsdbServer('awkward');
  folder = await temporaryFolder();
});
afterAll(async () => {
  await server.end();
  await esdb.stop();
  await removeFolder(folder);
});

test('a server started on an empty EventStoreDB applies a later import, and each post is visible at once', async () => {
  const environment = { EVENT_LOG: esdb.url };
  server = await Server.start(folder, { environment });
  expect(await statusOf(search())).toBe(403);
  const file = join(folder, 'network.json');
  await writeFile(file, JSON.stringify(NETWORK));
  expect(await runProgram(['network', 'import', file], { DATA_DIR: folder, ...environment })).toMatchObject({
    code: 0,
  });

  const found: number[] = [];
  for (let n = 1; n <= POSTS; n += 1) {
    const answer = await postProducts(server.url, [PRODUCTS[n]]);
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    found.push(await countOf(search()));
  }
  expect(found).toEqual(found.map((_, at) => at + 1));
  expect(await statusOf(`${server.url}/health/ready`)).toBe(200);
});

function search(): string {
  return `${server.url}/1.0/products.json;fid=22?token=${PUBLISHER}`;
}

async function countOf(url: string): Promise<number> {
  const answer = await fetch(url);
  const { productHeader } = (await answer.json()) as { productHeader: { totalHits: number } };
  return productHeader.totalHits;
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status;
}
