// Posts vouchers concurrently, or withdraws one, in its own process, and prints the ids, one per line. Optionally it
// kills itself (SIGKILL) at its first append to a stream of a category, before or after the append. Usage: node
// post-voucher.cjs <folder of the compiled program> <file or URL of the log> post|withdraw <vouchers or id>
//   [<category> before|after]
const { join } = require('node:path');

const [dist, where, command, what, category, when] = process.argv.slice(2);
const { openLog } = require(join(dist, 'src/engines/embedded/log/open-log.js'));
const { openEventStoreDb } = require(join(dist, 'src/engines/eventstoredb/open-event-store-db.js'));
const { SYSTEM_CLOCK } = require(join(dist, 'src/runtime/clock.js'));
const { VoucherWriter } = require(join(dist, 'src/domain/vouchers/voucher.js'));

const AT = '2026-03-01T12:00:00.000Z';

function die() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

async function main() {
  const log = where.startsWith('esdb:') ? await openEventStoreDb(where) : (await openLog(where, false)).log;
  const append = log.append.bind(log);
  log.append = async (stream, ...rest) => {
    const isThere = category !== undefined && stream.startsWith(`${category}-`);
    if (isThere && when === 'before') await die();
    const appended = await append(stream, ...rest);
    if (isThere) await die();
    return appended;
  };
  const vouchers = new VoucherWriter(SYSTEM_CLOCK, log);
  const written =
    command === 'post'
      ? await Promise.all(JSON.parse(what).map((post) => vouchers.post(post, AT)))
      : [await vouchers.withdraw(Number(what), () => true, AT)];
  process.stdout.write(written.map(({ id }) => `${id}\n`).join(''));
  await log.close();
}

void main();
