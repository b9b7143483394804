import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { type Checkout, copyCheckout } from '../../support/checkout';
import { ADVERTISER, folderWithNetwork, PUBLISHER, removeFolder, Server } from '../../support/server';

/** More than one slice, so that all threads validate. */
const PRODUCTS = [...generateProducts({ count: 3_000, categories: [{ id: '1' }] })];
let checkout: Checkout;
let folder: string;
let server: Server;
beforeEach(async () => {
  checkout = copyCheckout();
  folder = await folderWithNetwork();
});
afterEach(async () => {
  await server.end('SIGKILL');
  await removeFolder(folder);
  checkout.remove();
});

async function start(): Promise<void> {
  server = await Server.start(folder, { command: [process.execPath, checkout.program, 'serve'] });
}

/** `npm run build` in the checkout. */
async function build(): Promise<string> {
  const script = join(checkout.folder, 'scripts/build.mjs');
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said: unknown[] = [];
  child.stderr.on('data', (part: Buffer) => said.push(part.toString()));
  expect(await once(child, 'close')).toEqual([0, null]);
  return said.join('');
}

async function post(products: readonly unknown[]): Promise<string> {
  const answer = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ products }),
  });
  return await answer.text();
}

async function found(path: string): Promise<number> {
  const answer = await fetch(`${server.url}/1.0/${path};fid=22?token=${PUBLISHER}`);
  return ((await answer.json()) as { productHeader: { totalHits: number } }).productHeader.totalHits;
}

const pathIn = (name: string) => join(checkout.folder, name);

test('a server works as before while and after its checkout is built, however the build differs (ADR 23)', async () => {
  await start();
  const before = realpathSync(pathIn('dist'));
  // Nothing that the running server may still load.
  for (const name of ['src', 'projections', 'bench', 'test']) rmSync(pathIn(name), { recursive: true });
  mkdirSync(pathIn('src'));
  writeFileSync(pathIn('src/main.ts'), 'export const other = true;');
  const building = build();
  expect(await post(PRODUCTS.slice(0, 1))).toBe('{"errors":[]}');
  expect(await building).toMatch(/^build: done in \d+ s$/m);

  expect(readdirSync(pathIn('dist/src'))).toEqual(['main.js']);
  expect(existsSync(join(before, 'src/app/app.thread.js'))).toBe(true);
  expect(await post(PRODUCTS)).toBe('{"errors":[]}');
  while ((await found('products')) < 3_000);
  expect(await found('productsUnlimited')).toBe(3_000);
  for (const path of ['docs', '1.0/openapi.json', '1.0/schemas/ProductsFeedInput_v3_0.xsd', 'health/ready'])
    expect([path, (await fetch(`${server.url}/${path}`)).status]).toEqual([path, 200]);
  expect(server.stderr).toBe('');
  expect(await server.end()).toBe(0);
});

describe('the thread of the event log (decisions X81)', () => {
  const thread = () => join(realpathSync(pathIn('dist')), 'src/engines/embedded/log/log.thread.js');

  test('ends the process when it dies, which says so', async () => {
    const dies = `const { append } = LogThread.prototype;
      LogThread.prototype.append = function (appends) {
        if (!appends.some(({ stream }) => stream.startsWith('feed-'))) return append.call(this, appends);
        setImmediate(() => { throw new Error("a bug"); });
      };`;
    writeFileSync(thread(), `${readFileSync(thread(), 'utf8')}\n${dies}`);
    await start();
    const ended = server.ended;
    // Some answers are out before the process ends.
    const answer = await post(PRODUCTS.slice(0, 1)).catch(() => 'PF_230');
    expect(answer).toContain('PF_230');
    expect(await ended).toBe(1);
    expect(server.stderr).toMatch(/Error: the thread of the event log has died\n[^]*Error: a bug\n/);
  });

  test('prevents the start when it cannot be started: one line', async () => {
    rmSync(thread());
    await expect(start()).rejects.toThrow(
      /^the server ended with 1: affilog: the event log is not available: its thread cannot be started: \S+\/log\.sqlite \(Cannot find module '\S+\/log\.thread\.js'\)\n$/,
    );
  });
});
