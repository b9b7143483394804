// Exits while a thread calls the SQLite driver.
// Usage: node exit-in-calls.cjs <folder of the compiled program> <file of a store> <exit|throw> <short|long>
const { join } = require('node:path');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');

const [dist, file, how, calls] = process.argv.slice(2);
const { StoreFile } = require(join(dist, 'src/engines/embedded/store/store-file.js'));

/** Statements by how long they take, and how many are run before the end. */
const CALLS = {
  short: [1000, 100],
  // Some hundredths of a second: a process that exits waits up to a second.
  long: [200_000, 20],
};
const [numbers, most] = CALLS[calls];

if (isMainThread) {
  let reports = 0;
  new Worker(__filename, { argv: process.argv.slice(2) }).on('message', () => {
    reports += 1;
    if (reports < most) return;
    if (how === 'throw') throw new Error('a bug');
    process.exit(3);
  });
} else {
  const store = new StoreFile(file, { create: true, setUp: '' });
  for (;;) {
    parentPort.postMessage('running');
    store.all(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${numbers})
      SELECT max(n) FROM numbers`);
  }
}
