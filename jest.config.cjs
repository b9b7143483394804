require('./test/support/in-memory.cjs');

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Run by commands of their own: those that need servers by `npm run test:engines`, attacks by `npm run test:hostile`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/servers/', '<rootDir>/test/hostile/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  // What is loaded when it is needed is named as Node.js wants it: with the ending of the built file.
  moduleNameMapper: { '^(\\.{1,2}/.+)\\.js$': '$1' },
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testTimeout: 60_000,
  maxWorkers: 2,
  // What a client of EventStoreDB leaves to gRPC stays in memory for half an hour, with the test file around it.
  workerIdleMemoryLimit: '1GB',
};
