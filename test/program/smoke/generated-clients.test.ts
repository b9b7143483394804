import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLAIM_NETWORK, CLAIM_TOKENS } from '../../api/claim-network';
import { FEEDS, TOKENS } from '../../api/network';
import { clientOf, product } from '../../api/posted';
import { CONVERSION_TOKENS } from '../../api/transaction-network';
import { NOW, VOUCHER_TOKENS } from '../../api/voucher-network';
import { TestApp } from '../../support/app';

const run = promisify(execFile);
const CLIENTS = join(__dirname, '../../clients');
const GENERATORS = ['openapi-fetch', 'hey-api'] as const;

/** As strict as a user's may be. */
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    module: 'Node16',
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ['node'],
    outDir: 'built',
  },
};

let app: TestApp;
let folder: string;

beforeAll(async () => {
  app = await TestApp.start({ network: CLAIM_NETWORK, now: () => new Date(NOW) });
  await clientOf(() => app).post(FEEDS.german, [product('other')]);
  // Where modules of the project are found.
  const cache = join(__dirname, '../../../node_modules/.cache');
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, 'clients-'));
  const description = join(folder, 'openapi.json');
  await writeFile(description, (await app.get('/1.0/openapi.json')).body);
  await Promise.all(GENERATORS.map((generator) => generate(generator, description)));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await app.http.listen(0, '127.0.0.1');
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

/** Generates a client, with the program that uses it beside it. */
async function generate(generator: string, description: string): Promise<void> {
  const own = join(folder, generator);
  await mkdir(own);
  await run(process.execPath, [join(CLIENTS, 'generate.mjs'), generator, description, own]);
  for (const file of ['example.ts', 'example-claims.ts', `${generator}.ts`, `${generator}-claims.ts`])
    await copyFile(join(CLIENTS, 'usage', file), join(own, file));
}

it('clients of public generators, and what uses them with typed keys, compile (decisions A3, X36)', async () => {
  const tsc = require.resolve('typescript/bin/tsc');
  const compiled = await run(process.execPath, [tsc, '-p', folder]).catch((failure: unknown) => ({
    ...(failure as object),
  }));
  expect(compiled).toEqual({ stdout: '', stderr: '' });
});

it.each(GENERATORS)(
  'a client of %s posts a product, finds it, pages, downloads, posts and lists a voucher, reports and lists a transaction, and files, updates and deletes claims (decisions A3, A13, C13)',
  async (generator) => {
    const env = {
      BASE_URL: await app.http.getUrl(),
      ADVERTISER: TOKENS.nord,
      PUBLISHER: TOKENS.preisblick,
      VOUCHER_ADVERTISER: VOUCHER_TOKENS.nord,
      VOUCHER_PUBLISHER: VOUCHER_TOKENS.preisblick,
      CONVERSION_ADVERTISER: CONVERSION_TOKENS.nord,
      CLAIM_ADVERTISER: CLAIM_TOKENS.nord,
      CLAIM_PUBLISHER: CLAIM_TOKENS.preisblick,
      FEED: String(FEEDS.german),
      CATEGORY: '21',
      NOW: String(NOW),
      ORDER: generator,
    };
    const program = join(folder, 'built', generator, `${generator}.js`);
    const { stdout } = await run(process.execPath, [program], { env });
    const expected = JSON.parse(await readFile(join(CLIENTS, 'expected.json'), 'utf8')) as object;
    const downloaded: unknown = expect.arrayContaining(['Käse & Wein, 1/2']);
    expect(JSON.parse(stdout)).toEqual({ ...expected, downloaded });
  },
);
