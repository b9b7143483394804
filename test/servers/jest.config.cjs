const config = require('../../jest.config.cjs');

/** What runs over servers: `npm run test:engines`. They are slower than a folder, and one of each has to do. */
module.exports = {
  ...config,
  rootDir: '../..',
  roots: ['<rootDir>/test/servers'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 180_000,
  maxWorkers: 1,
};
