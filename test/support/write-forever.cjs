// Writes to a collection until it is killed: with version n ten new documents, one that is always the same, and n as
// the checkpoint; prints n when it is written. Usage: node write-forever.cjs <folder of the compiled program> <folder
// of the store> <collection>
const { writeSync } = require('node:fs');
const { join } = require('node:path');

const [dist, directory, collection] = process.argv.slice(2);
const { openEmbeddedStore } = require(join(dist, 'src/engines/embedded/store/open-store.js'));

async function writeForEver() {
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  for (let n = Number(await store.checkpoint({ collection })) + 1; ; n += 1) {
    const version = String(n).padStart(19, '0');
    const put = (id) => ({
      version,
      put: { id, fields: { feedId: 1, groupId: 'g', title: ['red'] }, body: version },
    });
    const writes = Array.from({ length: 10 }, (_, k) => put(`${n}-${k}`));
    await store.write({ collection }, [put('always'), ...writes], version);
    writeSync(1, `${n}\n`);
  }
}

void writeForEver();
