// Posts a voucher, or withdraws one, and kills itself (SIGKILL) at its first append to a stream of a category, before or
// after that is made.
// Usage: node posting-voucher.cjs <folder of the compiled program> <file> post|withdraw <voucher or id> <category> before|after
const { join } = require('node:path');

const [dist, file, command, what, category, when] = process.argv.slice(2);
const { openLog } = require(join(dist, 'src/engines/embedded/log/open-log.js'));
const { Vouchers } = require(join(dist, 'src/vouchers/vouchers.js'));

const AT = '2026-03-01T12:00:00.000Z';

function die() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

async function main() {
  const { log } = await openLog(file, false);
  const append = log.append.bind(log);
  log.append = async (stream, ...rest) => {
    const isThere = stream.startsWith(`${category}-`);
    if (isThere && when === 'before') await die();
    const appended = await append(stream, ...rest);
    if (isThere) await die();
    return appended;
  };
  const vouchers = new Vouchers(log);
  if (command === 'post') await vouchers.post(JSON.parse(what), AT);
  else await vouchers.withdraw(Number(what), () => true, AT);
}

void main();
