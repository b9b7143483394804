import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { live } from '../../support/attack';
import { attackSize, report } from '../../support/attack-run';
import { heavyProduct } from '../../support/heavy-reads';
import { ADVERTISER, folderWithNetwork, removeFolder, runShell, Server } from '../../support/server';

/** Each post logs some hundred bytes: together more than a pipe and the log buffer hold. */
const POSTS = attackSize({ small: 200, large: 3_000 });

const WAYS = [
  ['is on a full disk', 'full'],
  ['was closed by its reader', 'closed'],
  ['is not read', 'unread'],
] as const;

it.each(WAYS)(
  `${POSTS} posts are answered by a server whose output %s, and it stops on request (docs/operations.md, Starting and stopping)`,
  async (_, way) => {
    const folder = await folderWithNetwork();
    const output = way === 'full' ? openSync('/dev/full', 'w') : undefined;
    const environment = { LOG_LEVEL: 'info' };
    const server = await Server.start(
      folder,
      output === undefined ? { environment } : { environment, output },
    );
    if (output !== undefined) closeSync(output);
    if (way !== 'full') server.stopReading(way);
    // Its files may not grow, so each post is refused and logged.
    expect(spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=1:']).status).toBe(0);
    const answers: Record<string, number> = {};
    const posts = Array.from({ length: POSTS }, (__, at) => at).values();
    const client = async (): Promise<void> => {
      for (const at of posts) {
        const answer = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json; charset=utf-8' },
          body: JSON.stringify({ products: [heavyProduct(at)] }),
        });
        const { errors } = (await answer.json()) as { errors: readonly { code: string; message: string }[] };
        const { code = '', message = '' } = errors[0] ?? {};
        expect(message).toBe(`Service not responding (request ${answer.headers.get('x-request-id')})`);
        const key = `${answer.status} ${code} ${answer.headers.get('retry-after')}`;
        answers[key] = (answers[key] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    const took = await live(server);
    const asked = performance.now();
    const code = await server.end();
    report(
      `output ${way}: ${POSTS} posts to a full disk answered ${JSON.stringify(answers)}, ` +
        `live in ${Math.round(took)} ms, ended with ${code} in ${Math.round(performance.now() - asked)} ms`,
    );
    // Status, Open API code, Retry-After (decisions A12).
    expect([answers, code]).toEqual([{ '500 5 5': POSTS }, 0]);
    await removeFolder(folder);
  },
);

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
