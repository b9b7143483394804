const { join } = require('node:path');
require('./in-memory.cjs');
const { SWC } = require('./typescript.cjs');

/** What applies to a whole run. */
exports.run = {
  // Ends a test that hangs. Those that take longer at the usual size have a limit of their own; at other sizes many do.
  testTimeout: process.env.TEST_SIZE === undefined ? 120_000 : 1_200_000,
  maxWorkers: 2,
  testSequencer: join(__dirname, 'slow-first.cjs'),
  // gRPC keeps what a client of EventStoreDB leaves in memory for half an hour, with the test file around it.
  workerIdleMemoryLimit: '1GB',
};

/** A jest project: the tests in these folders. */
exports.project = (displayName, folders) => ({
  displayName,
  rootDir: join(__dirname, '../..'),
  roots: folders.map((folder) => `<rootDir>/${folder}`),
  testMatch: ['**/*.test.ts'],
  testEnvironment: join(__dirname, 'environment.cjs'),
  runtime: join(__dirname, 'runtime.cjs'),
  transform: {
    '^.+\\.ts$': ['@swc/jest', SWC],
  },
  // An `import()` names the built file, as Node.js requires: `.js`.
  moduleNameMapper: { '^(\\.{1,2}/.+)\\.js$': '$1' },
  // Node.js itself calls it, in the context of the tests.
  fakeTimers: { doNotFake: ['nextTick'] },
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
});
