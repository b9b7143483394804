const { project, run } = require('./test/support/jest.cjs');

/**
 * `core`: modules of the source, in folders named like theirs. `api`: the application in one thread, by requests. `program`: the
 * built program, its threads, processes and clients; `npm test` runs those in `test/program/smoke` only.
 *
 * `test/servers` and `test/hostile` have configurations of their own: `npm run test:engines`, `npm run test:hostile`.
 *
 * @type {import('jest').Config}
 */
module.exports = {
  ...run,
  projects: [
    {
      ...project('core', ['test']),
      testMatch: [
        '<rootDir>/test/*.test.ts',
        '<rootDir>/test/!(api|http|program|servers|hostile)/**/*.test.ts',
      ],
    },
    project('api', ['test/api', 'test/http']),
    project('program', ['test/program']),
  ],
};
