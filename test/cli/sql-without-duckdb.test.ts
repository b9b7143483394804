import { optionalDependencies } from '../../package.json';
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

  it('the log can be counted, checked and exported', async () => {
    expect(await run(['log', 'stats'], settings())).toMatchObject({ code: 0 });
    expect(await run(['log', 'check'], settings())).toMatchObject({ code: 0 });
  });
});
