import { spawnSync } from 'node:child_process';
import { openEngines } from '../../../src/engines/open';
import { importNetwork } from '../../../src/operations/import-network';
import { generateProducts } from '../../../bench/generate';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { ownServer, postProducts, PUBLISHER } from '../../support/server';
import { readFeed } from './feed-log';

const [FIRST, SECOND, THIRD] = [...generateProducts({ count: 3, categories: [{ id: '1' }] })];

describe('a server that cannot write (docs/operations.md, When something fails; decisions A12)', () => {
  const own = ownServer();

  /** Limits the size of the server's files: writes beyond it fail. */
  function limitFiles(bytes: number | 'unlimited'): void {
    const { status } = spawnSync('prlimit', ['--pid', String(own.server.pid), `--fsize=${bytes}:`]);
    expect(status).toBe(0);
  }

  async function post(...products: readonly unknown[]): Promise<string> {
    const answer = await postProducts(own.server.url, products);
    return `${answer.status} ${answer.headers.get('retry-after')} ${await answer.text()}`;
  }

  /** The number of products in a search or a download. */
  async function found(path: 'products' | 'productsUnlimited'): Promise<number> {
    const answer = await fetch(`${own.server.url}/1.0/${path};fid=22?token=${PUBLISHER}`);
    const { productHeader } = (await answer.json()) as { productHeader?: { totalHits: number } };
    return productHeader?.totalHits ?? -answer.status;
  }

  /** Appends to the log from another process. */
  async function appendElsewhere(): Promise<void> {
    const engines = await openEngines({
      dataDir: own.folder,
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    const organisations = [{ id: 77, kind: 'publisher', name: 'Later' }];
    await importNetwork(SYSTEM_CLOCK, engines.log, { organisations }, { at: new Date().toISOString() });
    await engines.close();
  }

  /** Waits until health reports a failure of the projector, or none any more. */
  async function projectorFailure(isReported: boolean): Promise<unknown> {
    for (;;) {
      const answer = await fetch(`${own.server.url}/health/ready`);
      const health = (await answer.json()) as object;
      if ('projector' in health === isReported) return isReported ? [answer.status, health] : answer.status;
    }
  }

  const listed = async () => [...(await readFeed(own.folder)).prices.keys()];
  const DONE = '200 null {"errors":[]}';
  const REFUSED =
    /^500 5 \{"errors":\[\{"code":"5","message":"Service not responding \(request [\w-]{36}\)"\}\]\}$/;

  it('refuses posts and downloads and logs why, still answers searches, and recovers when it can write again', async () => {
    expect(await post(FIRST)).toBe(DONE);
    limitFiles(1);
    expect(await post(SECOND)).toMatch(REFUSED);
    // A body too large for memory.
    expect(await post(...Array.from({ length: 9_000 }, () => SECOND))).toMatch(REFUSED);
    expect(await listed()).toEqual([FIRST?.sourceProductId]);
    for (const reason of [
      'the event log is not available: its file may not grow',
      'the posted products could not be written to disk (EFBIG)',
    ])
      expect(own.server.stderr).toContain(reason);
    expect(await found('products')).toBe(1);
    expect(await found('productsUnlimited')).toBe(-500);
    await appendElsewhere();
    // Whichever of the two projectors writes first.
    const failure = {
      projector: expect.stringMatching(/^(deliveries: )?the read store is not available: /) as string,
      waiting: { disk: 'the data folder cannot be written: its files may not grow' },
    };
    expect(await projectorFailure(true)).toMatchObject([503, failure]);

    limitFiles('unlimited');
    expect(await projectorFailure(false)).toBe(200);
    expect(await post(SECOND)).toBe(DONE);
    expect(await post(...Array.from({ length: 9_000 }, () => THIRD))).toBe(DONE);
    expect(await listed()).toEqual([FIRST, SECOND, THIRD].map((product) => product?.sourceProductId));
    expect([await found('products'), await found('productsUnlimited')]).toEqual([3, 3]);
  });
});
