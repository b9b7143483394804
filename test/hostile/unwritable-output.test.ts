import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { live } from '../support/attack';
import { ADVERTISER, folderWithNetwork, removeFolder, Server } from '../support/server';
import { report } from './report';

/** Each post logs more than a kilobyte: together more than a pipe and the log buffer hold. */
const POSTS = 3_000;

it.each(['full', 'closed', 'unread'] as const)(
  `${POSTS} posts are answered by a server whose output is %s, and it stops on request`,
  async (way) => {
    const folder = await folderWithNetwork();
    const output = way === 'full' ? openSync('/dev/full', 'w') : undefined;
    const server = await Server.start(folder, output === undefined ? {} : { output });
    if (output !== undefined) closeSync(output);
    if (way !== 'full') server.stopReading(way);
    // Its files may not grow, so each post is refused and logged.
    expect(spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=1:']).status).toBe(0);
    const answers: Record<string, number> = {};
    const posts = Array.from({ length: POSTS }, (_, at) => at).values();
    const client = async (): Promise<void> => {
      for (const at of posts) {
        const answer = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json; charset=utf-8' },
          body: JSON.stringify({ products: [product(at)] }),
        });
        const { errors } = (await answer.json()) as { errors: readonly { code: string }[] };
        const key = `${answer.status} ${errors[0]?.code} ${answer.headers.get('retry-after')}`;
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

function product(at: number): object {
  return {
    sourceProductId: `p${at}`,
    name: 'A',
    description: 'B',
    productUrl: 'https://a.example/',
    productImage: { url: 'https://a.example/' },
    price: 1,
    categories: [{ id: '1' }],
  };
}
