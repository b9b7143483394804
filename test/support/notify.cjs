// Sends notifications in its own process until it is killed, or asked to stop by SIGTERM. It prints `started` first.
// Usage: node notify.cjs <folder of the compiled program> <data folder> <allowed addresses> <lease in ms> <longest attempt in ms>
const { randomUUID } = require('node:crypto');
const { join } = require('node:path');

const [dist, dataDir, allowed, leaseMs, longestMs] = process.argv.slice(2);
const { openEngines } = require(join(dist, 'src/engines/open.js'));
const { FollowedSubscriptions } = require(join(dist, 'src/notifications/matching/subscription-book.js'));
const { DeliveryRunner } = require(join(dist, 'src/notifications/scheduling/delivery-runner.js'));
const { Recipients } = require(join(dist, 'src/notifications/scheduling/recipients.js'));
const { Secrets } = require(join(dist, 'src/notifications/secrets.js'));
const { AllowedAddresses } = require(join(dist, 'src/notifications/sending/allowed-addresses.js'));
const { Sender } = require(join(dist, 'src/notifications/sending/sender.js'));

async function main() {
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: true });
  const { log, store } = engines;
  const deliveries = await engines.deliveries();
  const ending = new AbortController();
  const subscriptions = new FollowedSubscriptions(log, ending.signal);
  await subscriptions.ready;
  const sender = new Sender({ allowed: AllowedAddresses.parse(allowed) });
  const recipients = new Recipients(subscriptions, new Secrets(Buffer.alloc(32)));
  const report = (failure) => process.stderr.write(`${failure?.stack ?? failure}\n`);
  const attempt = (...args) => sender.attempt(...args);
  const parts = { log, deliveries, store, recipients, attempt, report };
  const options = { owner: randomUUID(), leaseMs: Number(leaseMs), longestMs: Number(longestMs), lookMs: 50 };
  const runner = new DeliveryRunner(parts, options);
  runner.start();
  process.stdout.write('started\n');
  process.once('SIGTERM', async () => {
    await runner.stop();
    await sender.close();
    ending.abort();
    await subscriptions.ended;
    await engines.close();
  });
}

void main();
