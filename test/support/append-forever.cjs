// Appends to a log until it is killed; prints each id as soon as the append is acknowledged.
// Usage: node append-forever.cjs <folder of the compiled program> <file> <stream prefix> [threads]
const { randomUUID } = require('node:crypto');
const { writeSync } = require('node:fs');
const { join } = require('node:path');

const [dist, file, prefix, threads] = process.argv.slice(2);
const { openLog } = require(join(dist, 'src/engines/embedded/log/open-log.js'));

async function appendForEver(log, stream, size) {
  for (let revision = -1; ; revision += size) {
    const events = Array.from({ length: size }, () => ({
      id: randomUUID(),
      type: 'Happened',
      data: JSON.stringify({ text: 'x'.repeat(300) }),
      meta: '{}',
    }));
    await log.append(stream, revision, events);
    writeSync(1, events.map(({ id }) => `${id}\n`).join(''));
  }
}

async function main() {
  const { log } = await openLog(file, threads === 'threads');
  await Promise.all([1, 1, 3, 40].map((size, n) => appendForEver(log, `${prefix}-${n}`, size)));
}

void main();
