/** @jest-environment-options {"alone": true} */
import { join } from 'node:path';
import { optionalDependencies } from '../../package.json';
import { FEEDS, NETWORK, OTHER_TOKENS } from '../api/network';
import { clientOf, product } from '../api/posted';
import { TestApp } from '../support/app';
import { cliFolder, run } from './run';

// As if it was not installed.
jest.mock('@duckdb/node-api', () => {
  throw Object.assign(new Error("Cannot find module '@duckdb/node-api'"), { code: 'MODULE_NOT_FOUND' });
});

const { settings } = cliFolder();

describe('Where DuckDB is not installed (decisions X115)', () => {
  it('affilog sql says how to install it', async () => {
    const { code, err } = await run(['sql', 'SELECT 1'], settings());
    const version = optionalDependencies['@duckdb/node-api'];
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        `affilog: DuckDB is not installed: run \`npm install --no-save @duckdb/node-api@${version}\` in the folder of the program`,
      ),
    ]);
  });

  it('everything else works: the log is counted, checked and exported, but to Parquet, and the API answers', async () => {
    const app = await TestApp.start({ network: NETWORK });
    try {
      await clientOf(() => app).post(FEEDS.german, [product('hello-1')]);
      await app.settled();
      const log = (...args: readonly string[]) => run(['log', ...args], { DATA_DIR: app.folder });
      for (const name of ['stats', 'check']) expect(await log(name)).toMatchObject({ code: 0, err: '' });
      const exported = (format: string) => log('export', join(app.folder, format), '--format', format);
      for (const format of ['ndjson', 'csv']) expect(await exported(format)).toMatchObject({ code: 0 });
      expect(await exported('parquet')).toMatchObject({
        code: 1,
        err: expect.stringContaining('affilog: DuckDB is not installed: run `npm install') as string,
      });

      const token = OTHER_TOKENS.operator;
      const history = await app.get(`/ops/1.0/history/product/${FEEDS.german}/hello-1`, { token });
      expect([history.statusCode, history.json()]).toMatchObject([200, [{ event: 'ProductListed' }]]);
      expect((await app.get('/ops/1.0/log;limit=1', { token })).statusCode).toBe(200);
      const asked = await app.get('/ops/1.0/sql;q=SELECT%201', { token });
      expect([asked.statusCode, asked.body]).toEqual([
        500,
        expect.stringContaining('DuckDB is not installed'),
      ]);
    } finally {
      await app.close();
    }
  });
});
