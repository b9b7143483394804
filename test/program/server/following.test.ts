import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NOW, VOUCHER_NETWORK, VOUCHER_TOKENS, voucher } from '../../api/voucher-network';
import { folderWithNetwork, removeFolder, Server } from '../../support/server';

const run = promisify(execFile);

let folder: string;
let server: Server;

beforeAll(async () => {
  folder = await folderWithNetwork({}, VOUCHER_NETWORK);
  server = await Server.start(folder, {});
});
afterAll(async () => {
  await server.end('SIGKILL');
  await removeFolder(folder);
});

const ask = (path: string, token: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.url}/1.0/vouchers${path}?token=${token}`, init);

async function post(sourceId: string, title: string): Promise<number> {
  const endDate = Date.now() + (voucher()['endDate'] as number) - NOW;
  const answer = await ask('', VOUCHER_TOKENS.nord, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
    body: JSON.stringify(voucher({ sourceId, title, startDate: Date.now(), endDate })),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as [number])[0];
}

const listed = async (): Promise<readonly object[]> =>
  (await (await ask(';pageSize=1000', VOUCHER_TOKENS.preisblick)).json()) as readonly object[];

/** The programs of `docs/following.md`, by language. */
const programs = async (): Promise<ReadonlyMap<string, string>> => {
  const text = await readFile(join(__dirname, '../../../docs/following.md'), 'utf8');
  return new Map(
    [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [name, code]),
  );
};

const COMMANDS: Readonly<Record<string, readonly [command: string, file: string]>> = {
  js: [process.execPath, 'follow.mjs'],
  python: ['python3', 'follow.py'],
  sh: ['sh', 'follow.sh'],
};

it('the guide has a program in three languages', async () => {
  expect([...(await programs()).keys()]).toEqual(Object.keys(COMMANDS));
});

it.each(Object.entries(COMMANDS))(
  'that in %s keeps a copy equal to the list',
  async (name, [command, file]) => {
    const own = await mkdtemp(join(folder, 'copy-'));
    await writeFile(join(own, file), (await programs()).get(name) ?? '');
    const environment = {
      PATH: process.env.PATH,
      API: server.url,
      VOUCHER_PUBLISHER: VOUCHER_TOKENS.preisblick,
    };
    const follow = async () => {
      await run(command, [file], { cwd: own, env: environment });
      const { vouchers } = JSON.parse(await readFile(join(own, 'copy.json'), 'utf8')) as { vouchers: object };
      const byId = new Map((await listed()).map((one) => [String((one as { id: number }).id), one]));
      expect(new Map(Object.entries(vouchers))).toEqual(byId);
      return byId.size;
    };
    const before = await follow();
    const [first] = [await post(`${name} 1`, 'One'), await post(`${name} 2`, 'Two')];
    expect(await follow()).toBe(before + 2);
    await ask(`/${first}`, VOUCHER_TOKENS.nord, { method: 'DELETE' });
    await post(`${name} 2`, 'Half the price');
    expect(await follow()).toBe(before + 1);
  },
);
