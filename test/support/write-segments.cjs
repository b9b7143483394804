// Writes to a collection until it is killed: with version n what `batchOf(n)` says, and n as the checkpoint; prints n
// when it is written. Between writes, segments are merged.
// Usage: node write-segments.cjs <folder of the compiled program> <folder of the store> <collection>
const { writeSync } = require('node:fs');
const { join } = require('node:path');
const { setImmediate: turn } = require('node:timers/promises');

/** Ten new documents; three of earlier ones are removed, and one has another price and other words. */
function batchOf(n) {
  const version = String(n).padStart(19, '0');
  const put = (id, price) => ({
    version,
    put: {
      id,
      fields: {
        feedId: 1 + (n % 2),
        price,
        modified: n,
        stock: n % 5,
        groupId: `g${price % 50}`,
        brand: `b${n % 3}`,
        tags: [`t${price % 4}`],
        title: ['red', `w${price % 7}`],
        description: [`w${n % 11}`],
      },
      body: `${id} ${price}`,
    },
  });
  return [
    ...Array.from({ length: 10 }, (_, k) => put(`${n}-${k}`, n * 10 + k)),
    ...[2, 20, 50].filter((ago) => n > ago).map((ago) => ({ version, remove: `${n - ago}-${ago % 9}` })),
    ...(n > 30 ? [put(`${n - 30}-1`, n * 10 + 9)] : []),
  ];
}

async function writeForEver([dist, directory, collection]) {
  // Each step of a merge takes longer than it should, so it is one transaction: merges are seen, however fast they are.
  const now = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => now() + (ahead += 25);
  const { openEmbeddedStore } = require(join(dist, 'src/engines/embedded/store/open-store.js'));
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  for (let n = Number(await store.checkpoint({ collection })) + 1; ; n += 1) {
    await store.write({ collection }, batchOf(n), String(n).padStart(19, '0'));
    writeSync(1, `${n}\n`);
    await turn();
  }
}

if (require.main === module) void writeForEver(process.argv.slice(2));
module.exports = { batchOf };
