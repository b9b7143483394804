const { project, run } = require('../support/jest.cjs');

const ALL = ['**/*.test.ts'];

/**
 * What runs over a server and SQLite: histories of all operations, and rebuilds. Each engine has the whole suite of the
 * API in the pair of both servers and in `npm test`; `PAIRS=all` runs it over each pair.
 */
const OVER_MIXED_PAIRS = process.env.PAIRS === 'all' ? ALL : ['**/random-*.test.ts', '**/meanwhile.test.ts'];

/**
 * Tests over servers, which `npm run test:engines` starts. What no engine has a part in is in `test/http`, which is not
 * run here.
 */
const over = (displayName, folders, engines, testMatch = ALL) => ({
  ...project(displayName, folders),
  testMatch,
  globals: { engines },
});

/** The contract of the engine, and the suite of the API over each pair of engines that is not all SQLite. */
module.exports = {
  ...run,
  rootDir: __dirname,
  // Requests of servers take longer than those of a folder.
  testTimeout: 3 * run.testTimeout,
  // One more than otherwise: each waits for a server for much of its time.
  maxWorkers: run.maxWorkers + 1,
  projects: [
    over('Elasticsearch', ['test/servers'], { log: 'sqlite', store: 'sqlite' }),
    over('EventStoreDB and SQLite', ['test/api'], { log: 'eventstoredb', store: 'sqlite' }, OVER_MIXED_PAIRS),
    over(
      'SQLite and Elasticsearch',
      ['test/api'],
      { log: 'sqlite', store: 'elasticsearch' },
      OVER_MIXED_PAIRS,
    ),
    over(
      'EventStoreDB and Elasticsearch',
      ['test/api', 'test/delivery/scheduling', 'test/program/kills'],
      { log: 'eventstoredb', store: 'elasticsearch' },
      ['<rootDir>/test/api/**/*.test.ts', '**/{delivery-runner,ended-and-asked,notifiers}.test.ts'],
    ),
  ],
};
