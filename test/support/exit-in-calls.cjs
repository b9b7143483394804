// Exits while a thread calls the SQLite driver.
// Usage: node exit-in-calls.cjs <folder of the compiled program> <file of a store> <exit|throw> <short|long>
const { join } = require('node:path');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');

const [dist, file, how, calls] = process.argv.slice(2);
const { QueryClock } = require(join(dist, 'src/engines/embedded/store/query-clock.js'));
const { StoreFile } = require(join(dist, 'src/engines/embedded/store/store-file.js'));

const NUMBERS = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1e9)
  SELECT n FROM numbers WHERE n % 1024 <> 1 OR in_time()`;
/** The long one takes minutes. */
const QUERIES = { short: `${NUMBERS} LIMIT 1000`, long: NUMBERS };

/** Tells the main thread that a query is running. */
class ReportingClock extends QueryClock {
  check() {
    parentPort.postMessage('running');
    return super.check();
  }
}

if (isMainThread) {
  let reports = 0;
  new Worker(__filename, { argv: process.argv.slice(2) }).on('message', () => {
    reports += 1;
    if (reports < 100) return;
    if (how === 'throw') throw new Error('a bug');
    process.exit(3);
  });
} else {
  const store = new StoreFile(file, { create: true, setUp: '', clock: new ReportingClock() });
  for (;;) store.all(QUERIES[calls]);
}
