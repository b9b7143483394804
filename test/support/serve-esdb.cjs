// Serves a log as EventStoreDB until it is killed or its standard input ends; prints the port.
// Usage: node serve-esdb.cjs <folder of the compiled program> <file> <port> writable|read-only|awkward
const { join } = require('node:path');

const [dist, file, port, mode] = process.argv.slice(2);
const compiled = (name) => require(join(dist, `${name}.js`));
const { openLog } = compiled('src/engines/embedded/log/open-log');

const SERVE = {
  'read-only': () => compiled('src/replay/serve-replay').serveReplay,
  writable: () => compiled('test/support/esdb-writing/serve-writable').serveWritable,
  awkward: () => compiled('test/support/esdb-awkward/serve-awkward').serveAwkward,
};

async function main() {
  const { log } = await openLog(file, false);
  const serve = SERVE[mode]();
  const endpoint = await serve(log, { host: '127.0.0.1', port: Number(port), report: console.error });
  process.stdout.write(`${endpoint.port}\n`);
  process.stdin.resume();
  process.stdin.on('end', async () => {
    await endpoint.close();
    await log.close();
  });
}

void main();
