import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { folderWithNetwork, postProducts, PUBLISHER, removeFolder, Server } from '../../support/server';

const PRODUCTS = [...generateProducts({ count: 3, categories: [{ id: '1' }] })];

/** A file system in memory of 24 MB, or undefined without the right to mount one. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'affilog-disk-'));
  if (mount('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder)) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

function mount(...args: readonly string[]): boolean {
  return spawnSync('mount', args).status === 0;
}

const disk = mountSmallDisk();
if (disk === undefined)
  process.stderr.write(
    'skipped, since no file system can be mounted here: a server on a file system of its own\n',
  );
// Reason to skip: mounting needs root. Without it, `full-disk.test.ts` simulates a full disk by a limit of the process.
const describeWithDisk = disk === undefined ? describe.skip : describe;

describeWithDisk('a server on a file system of its own (docs/operations.md, Health; decisions X97)', () => {
  const folder = disk ?? '';
  let server: Server;
  beforeAll(async () => {
    const made = await folderWithNetwork();
    cpSync(made, folder, { recursive: true });
    await removeFolder(made);
    server = await Server.start(folder);
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true });
  });

  async function health(): Promise<unknown> {
    const answer = await fetch(`${server.url}/health/ready`);
    const { waiting } = (await answer.json()) as { waiting?: object };
    return [answer.status, answer.headers.get('retry-after'), waiting];
  }
  /**
   * The server looks at most once a second, as `test/app/health.test.ts` tests: here a failure has to show the last
   * answer.
   */
  async function untilHealth(expected: unknown): Promise<void> {
    const deadline = AbortSignal.timeout(60_000);
    let found = await health();
    while (JSON.stringify(found) !== JSON.stringify(expected) && !deadline.aborted) found = await health();
    expect(found).toEqual(expected);
  }
  const WELL = [200, null, undefined];
  const unwritable = (why: string) => [503, '1', { disk: `the data folder cannot be written: ${why}` }];

  async function post(product: unknown): Promise<number> {
    const answer = await postProducts(server.url, [product]);
    await answer.arrayBuffer();
    return answer.status;
  }

  async function search(): Promise<number> {
    const answer = await fetch(`${server.url}/1.0/products;fid=22?token=${PUBLISHER}`);
    await answer.arrayBuffer();
    return answer.status;
  }

  it('is not ready while the file system is full, still answers searches, and recovers', async () => {
    expect(await post(PRODUCTS[0])).toBe(200);
    await untilHealth(WELL);
    const filler = join(folder, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(24 * 1024 * 1024))).toThrow('ENOSPC');
    await untilHealth(unwritable('the disk is full'));
    expect(await search()).toBe(200);
    rmSync(filler);
    await untilHealth(WELL);
    expect(await post(PRODUCTS[1])).toBe(200);
  });

  it('is not ready while the file system is read-only, still answers searches, and recovers', async () => {
    // A file that is open for writing prevents an ordinary change to read-only.
    expect(mount('--bind', folder, folder)).toBe(true);
    expect(mount('-o', 'remount,bind,ro', folder)).toBe(true);
    await untilHealth(unwritable('it is read-only'));
    expect(await search()).toBe(200);
    expect(mount('-o', 'remount,bind,rw', folder)).toBe(true);
    await untilHealth(WELL);
    expect(await post(PRODUCTS[2])).toBe(200);
    expect(spawnSync('umount', [folder]).status).toBe(0);
  });
});
