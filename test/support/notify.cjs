// Sends notifications in its own process until it is killed, or asked to stop by SIGTERM. It prints `started` first.
// Usage: node notify.cjs <folder of the compiled program> <settings of the engines as JSON> <allowed addresses> <times
// as JSON>
const { randomUUID } = require('node:crypto');
const { join } = require('node:path');

const [dist, settings, allowed, times] = process.argv.slice(2);
const { openEngines } = require(join(dist, 'src/engines/open.js'));
const { FollowedSubscriptions } = require(join(dist, 'src/delivery/scheduling/recipients.js'));
const { DeliveryRunner } = require(join(dist, 'src/delivery/scheduling/delivery-runner.js'));
const { Recipients } = require(join(dist, 'src/delivery/scheduling/recipients.js'));
const { Secrets } = require(join(dist, 'src/domain/subscriptions/subscription.js'));
const { AllowedAddresses } = require(join(dist, 'src/delivery/sending/addresses.js'));
const { SYSTEM_CLOCK } = require(join(dist, 'src/runtime/clock.js'));
const { Sender } = require(join(dist, 'src/delivery/sending/sender.js'));

async function main() {
  const engines = await openEngines({ ...JSON.parse(settings), threads: true });
  const { log, leases } = engines;
  const deliveries = await engines.deliveries();
  const ending = new AbortController();
  const subscriptions = new FollowedSubscriptions(SYSTEM_CLOCK, log, ending.signal);
  await subscriptions.ready;
  const sender = new Sender({ clock: SYSTEM_CLOCK, allowed: AllowedAddresses.parse(allowed) });
  const recipients = new Recipients(subscriptions, new Secrets(Buffer.alloc(32)));
  const report = (failure) => process.stderr.write(`${failure?.stack ?? failure}\n`);
  const attempt = (...args) => sender.attempt(...args);
  const parts = { clock: SYSTEM_CLOCK, log, deliveries, leases, recipients, attempt, report };
  const options = { owner: randomUUID(), ...JSON.parse(times) };
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
