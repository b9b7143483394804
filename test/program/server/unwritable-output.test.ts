import { closeSync, openSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { ADVERTISER, folderWithNetwork, removeFolder, runShell, Server } from '../../support/server';

/** Refused posts, each with a log line of some hundred bytes: more than a pipe buffers. */
const REFUSALS = 200;

const WAYS = [
  ['is on a full disk', 'full'],
  ['was closed by its reader', 'closed'],
  ['is not read', 'unread'],
] as const;

describe.each(WAYS)('a server whose output %s (docs/operations.md, Starting and stopping)', (_, way) => {
  let folder: string;
  let server: Server;
  beforeAll(async () => {
    folder = await folderWithNetwork();
    if (way === 'full') {
      const output = openSync('/dev/full', 'w');
      server = await Server.start(folder, { output, environment: { LOG_LEVEL: 'info' } });
      closeSync(output);
    } else {
      server = await Server.start(folder);
      server.stopReading(way);
    }
    // Its files may not grow, so each post is refused and logged.
    expect(spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=1:']).status).toBe(0);
  });
  afterAll(() => removeFolder(folder));

  it('serves requests without a log and stops on request', async () => {
    for (let at = 0; at < REFUSALS; at += 1) {
      const refused = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({
          products: [
            {
              sourceProductId: `p${at}`,
              name: 'A',
              description: 'B',
              productUrl: 'https://a.example/',
              productImage: { url: 'https://a.example/' },
              price: 1,
              categories: [{ id: '1' }],
            },
          ],
        }),
      });
      const message = `Service not responding (request ${refused.headers.get('x-request-id')})`;
      expect(await refused.json()).toEqual({ errors: [{ code: '5', message }] });
    }
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
    expect(await server.end()).toBe(0);
  });
});

describe('a command whose output cannot be written', () => {
  it('fails with the reason', async () => {
    expect(await runShell('$AFFILOG settings >/dev/full')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'affilog: standard output: ENOSPC: no space left on device, write\n',
    });
  });

  it('fails silently when its reader is gone', async () => {
    const { stderr } = await runShell('{ $AFFILOG settings; echo "ended with $?" >&2; } | true');
    expect(stderr).toBe('ended with 1\n');
  });
});
