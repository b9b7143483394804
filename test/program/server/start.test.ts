import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import {
  folderWithNetwork,
  freePort,
  postProducts,
  PUBLISHER,
  removeFolder,
  Server,
  stopDuringStart,
} from '../../support/server';

const PRODUCTS = [...generateProducts({ count: 2_000, categories: [{ id: '1' }] })];

describe('a server that builds its read models at the start (decisions X98)', () => {
  let folder: string;
  let server: Server;
  beforeAll(async () => {
    folder = await folderWithNetwork();
    server = await Server.start(folder);
    const answer = await postProducts(server.url, PRODUCTS);
    expect(answer.status).toBe(200);
    await server.end();
    await rm(join(folder, 'read'), { recursive: true });
  });
  afterAll(async () => {
    await server.end();
    await removeFolder(folder);
  });

  it.each([/opened/, /built/, /reference data/])(
    'ends with 0 when it is stopped meanwhile (%s), once its threads have ended: none is inside the driver then',
    async (reason) => {
      for (let run = 0; run < 4; run++) {
        const { code, stderr } = await stopDuringStart(folder, reason);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        await rm(join(folder, 'read'), { recursive: true, force: true });
      }
    },
  );

  it('refuses connections, then answers 503, then listens and finds all; never in another order', async () => {
    const port = await freePort();
    const seen: string[] = [];
    let isListening = false;
    const watch = async (): Promise<void> => {
      while (!isListening) {
        const answer = await fetch(`http://127.0.0.1:${port}/1.0/products;fid=22?token=${PUBLISHER}`).catch(
          () => undefined,
        );
        const state = `${answer?.status ?? 'refused'} ${answer?.headers.get('retry-after') ?? ''}`.trim();
        await answer?.arrayBuffer();
        if (seen.at(-1) !== state) seen.push(state);
      }
    };
    const watching = watch();
    server = await Server.start(folder, { environment: { PORT: `${port}` } });
    const found = await fetch(`${server.url}/1.0/products;fid=22?token=${PUBLISHER}`);
    isListening = true;
    await watching;
    expect(await found.json()).toMatchObject({ productHeader: { totalHits: 2_000 } });
    expect(seen.slice(0, 2)).toEqual(['refused', '503 5']);
    expect(['', '200']).toContain(seen.slice(2).join());
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
  });
});

it('a server that waits for an EventStoreDB that is down ends as soon as it is stopped (decisions X98)', async () => {
  const folder = await folderWithNetwork();
  const environment = { EVENT_LOG: `esdb://127.0.0.1:${await freePort()}?tls=false` };
  const { code, stderr } = await stopDuringStart(folder, /engines are being opened/, environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await removeFolder(folder);
});

it('a process without the role `api` says nothing about searches, which it does not answer (decisions X98)', async () => {
  const folder = await folderWithNetwork();
  const server = await Server.start(folder, { args: ['--roles', 'notifier'] });
  expect(await server.end()).toBe(0);
  expect([server.stdoutLines, server.stderr]).toEqual([['running notifier'], '']);
  await removeFolder(folder);
});

it('a server warns that products are refused which MAX_BODY allows (decisions X100)', async () => {
  const folder = await folderWithNetwork();
  const server = await Server.start(folder, { environment: { BODY_SPACE: '1GB' } });
  await server.end();
  expect(server.stderr).toMatch(/^[^\n]*products of more than 536870912 bytes are refused[^\n]*\n$/);
  await removeFolder(folder);
});
