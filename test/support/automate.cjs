// Runs the automations of transactions in its own process until nothing is due, and kills itself (SIGKILL) before or
// after its n-th append, or while it waits until its appends are visible; with `never` it exits. Usage: node
// automate.cjs <folder of the compiled program> <data folder> <its wall clock at the start> <n>
// before|after|waiting|never
const { join } = require('node:path');

const [dist, dataDir, start, n, when] = process.argv.slice(2);
const { openEngines } = require(join(dist, 'src/engines/open.js'));
const { AutomationRunner } = require(join(dist, 'src/processes/automation-runner.js'));
const { FollowedDirectory } = require(join(dist, 'src/network/follower.js'));
const { SystemClock } = require(join(dist, 'src/runtime/clock.js'));
const { transactionAutomations } = require(join(dist, 'src/processes/automations.js'));

function die() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

class OwnClock extends SystemClock {
  wall() {
    return Number(start) + Math.floor(performance.now());
  }
}

async function main() {
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const { log, store, leases, close } = await openEngines(settings);
  let appends = 0;
  const append = log.append.bind(log);
  const dyingAppend = async (...args) => {
    appends += 1;
    const isLast = appends === Number(n);
    if (isLast && when === 'before') await die();
    const appended = await append(...args);
    if (isLast && when === 'after') await die();
    return appended;
  };
  // One after the other: concurrent appends would be committed together.
  let last = Promise.resolve();
  log.append = (...args) => (last = last.then(() => dyingAppend(...args)));
  const checkpoint = store.checkpoint.bind(store);
  store.checkpoint = async (target) => {
    if (appends > 0 && when === 'waiting') await die();
    return checkpoint(target);
  };
  const ending = new AbortController();
  const clock = new OwnClock();
  const follower = new FollowedDirectory(clock, log, ending.signal);
  const options = {
    owner: String(process.pid),
    clock,
    report: (failure) => process.stderr.write(`${failure}\n`),
  };
  const runner = new AutomationRunner({ log, store, leases, follower }, transactionAutomations, options);
  for (const automation of transactionAutomations) while (await runner.turn(automation));
  await runner.stop();
  ending.abort();
  await follower.ended;
  await close();
}

void main();
