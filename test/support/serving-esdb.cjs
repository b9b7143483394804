// Serves a log as EventStoreDB until it is killed or its standard input ends; says the port on stdout.
// Usage: node serving-esdb.cjs <folder of the compiled program> <file> <port> [read-only]
const { join } = require('node:path');

const [dist, file, port, mode] = process.argv.slice(2);
const { openLog } = require(join(dist, 'src/engines/embedded/log/open-log.js'));
const { serveEsdb } = require(join(dist, 'src/engines/esdb-endpoint/serve-esdb.js'));

async function main() {
  const { log } = await openLog(file, false);
  const options = {
    host: '127.0.0.1',
    port: Number(port),
    readOnly: mode === 'read-only',
    report: console.error,
  };
  const endpoint = await serveEsdb(log, options);
  process.stdout.write(`${endpoint.port}\n`);
  process.stdin.resume();
  process.stdin.on('end', async () => {
    await endpoint.close();
    await log.close();
  });
}

void main();
