// A worker thread that opens the engines of its ticket, appends an event and posts the result.
const { join } = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');

const { joinEngines } = require(join(workerData.dist, 'src/engines/open.js'));

async function main() {
  const { log, store, close } = await joinEngines(workerData.ticket);
  const appended = await log.append('feed-1', -1, [workerData.event]);
  const generations = await store.generations('products');
  await close();
  parentPort.postMessage({ ...appended, generations: generations.length });
}

void main();
