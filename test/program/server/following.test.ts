import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FEEDS, TOKENS } from '../../api/network';
import { product } from '../../api/posted';
import { VOUCHER_NETWORK, VOUCHER_TOKENS } from '../../api/voucher-network';
import { installClient } from '../../support/installed-client';
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

const vouchersOf = async (client: keyof typeof VOUCHER_TOKENS) => {
  const { Affilog } = await import('../../../clients/typescript/src/index.js');
  return new Affilog({ url: server.url, token: VOUCHER_TOKENS[client] }).vouchers;
};

const post = async (sourceId: string, title: string): Promise<number> =>
  (await vouchersOf('nord')).post({
    ...{ sourceId, title, programId: 101, voucherTypeId: 4, shortDescription: 'Off', description: 'Off' },
    ...{ startDate: Date.now(), endDate: Date.now() + 86_400_000 },
  });

async function listed(): Promise<ReadonlyMap<string, object>> {
  const byId = new Map<string, object>();
  for await (const one of (await vouchersOf('preisblick')).list()) byId.set(String(one.id), one);
  return byId;
}

/** The programs of `docs/following.md`: of vouchers in each language, and of products. */
const programs = async (): Promise<ReadonlyMap<string, string>> => {
  const text = await readFile(join(__dirname, '../../../docs/following.md'), 'utf8');
  return new Map(
    [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [
      code.includes('products') ? 'products' : name,
      code,
    ]),
  );
};

const COMMANDS: Readonly<Record<string, readonly [command: string, file: string]>> = {
  js: [process.execPath, 'follow.mjs'],
  python: ['python3', 'follow.py'],
  sh: ['sh', 'follow.sh'],
};

it('the guide has a program in three languages, and one of products', async () => {
  expect([...(await programs()).keys()]).toEqual([...Object.keys(COMMANDS), 'products']);
});

it.each(Object.entries(COMMANDS))(
  'that in %s keeps a copy equal to the list',
  async (name, [command, file]) => {
    const own = await mkdtemp(join(folder, 'copy-'));
    if (name === 'js') await installClient(own);
    await writeFile(join(own, file), (await programs()).get(name) ?? '');
    const environment = {
      PATH: process.env.PATH,
      API: server.url,
      VOUCHER_PUBLISHER: VOUCHER_TOKENS.preisblick,
    };
    const follow = async () => {
      await run(command, [file], { cwd: own, env: environment });
      const { vouchers } = JSON.parse(await readFile(join(own, 'copy.json'), 'utf8')) as { vouchers: object };
      const byId = await listed();
      expect(new Map(Object.entries(vouchers))).toEqual(byId);
      return byId.size;
    };
    const before = await follow();
    const first = await post(`${name} 1`, 'One');
    await post(`${name} 2`, 'Two');
    expect(await follow()).toBe(before + 2);
    await (await vouchersOf('nord')).delete(first);
    await post(`${name} 2`, 'Half the price');
    expect(await follow()).toBe(before + 1);
  },
);

it('that of products keeps a copy equal to the feed (decisions X51)', async () => {
  const own = await mkdtemp(join(folder, 'copy-'));
  await installClient(own);
  await writeFile(join(own, 'follow.mjs'), (await programs()).get('products') ?? '');
  const { Affilog } = await import('../../../clients/typescript/src/index.js');
  const clientOf = (token: string) => new Affilog({ url: server.url, token }).products;
  const advertiser = clientOf(TOKENS.nord);
  const publisher = clientOf(TOKENS.preisblick);
  const load = (...products: object[]) => advertiser.load(FEEDS.german, products as never);
  const env = {
    PATH: process.env.PATH,
    API: server.url,
    PUBLISHER: TOKENS.preisblick,
    FEED: `${FEEDS.german}`,
  };
  const follow = async (): Promise<readonly (readonly [string, number])[]> => {
    const { products } = await publisher.download(FEEDS.german);
    await run(process.execPath, ['follow.mjs'], { cwd: own, env });
    const copy = JSON.parse(await readFile(join(own, 'products.json'), 'utf8')) as {
      readonly products: readonly (readonly [string, (typeof products)[number]])[];
    };
    const byId = new Map(products.map((one) => [one.offers[0]!.sourceProductId, one]));
    expect(new Map(copy.products)).toEqual(byId);
    return [...byId].map(([id, { offers }]) => [id, offers[0]!.price] as const).sort();
  };
  await load(product('a'), product('__proto__'));
  expect(await follow()).toEqual([
    ['__proto__', 10],
    ['a', 10],
  ]);
  await load(product('b'), product('__proto__', { price: 9 }));
  await advertiser.delete(FEEDS.german, ['a']);
  expect(await follow()).toEqual([
    ['__proto__', 9],
    ['b', 10],
  ]);
  expect(await follow()).toHaveLength(2);
});
