const { project, run } = require('../support/jest.cjs');

/** Attacks on a running server, one after the other: `npm run test:hostile` builds it and runs them. */
module.exports = {
  ...run,
  rootDir: __dirname,
  projects: [project('hostile', ['test/hostile', 'test/program/hostile'])],
  verbose: true,
  maxWorkers: 1,
};
