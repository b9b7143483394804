const { join } = require('node:path');
const config = require('../../jest.config.cjs');

/** Attacks on a running server, one after the other: `npm run test:hostile` builds it and runs them. */
module.exports = {
  ...config,
  rootDir: join(__dirname, '../..'),
  roots: ['<rootDir>/test/hostile'],
  testPathIgnorePatterns: ['/node_modules/'],
  verbose: true,
  maxWorkers: 1,
  testTimeout: 10 * config.testTimeout,
};
