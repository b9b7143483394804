// Writes claims in its own process, and prints the outcome of each command, one per line. Optionally it kills itself
// (SIGKILL) at its first append to a stream of a category, before or after the append. Usage: node write-claims.cjs
// <folder of the compiled program> <file or URL of the log> <commands> [<category> before|after] A command is a list of
// claims to create together, or { id, claim } to update one.
const { join } = require('node:path');

const [dist, where, commands, category, when] = process.argv.slice(2);
const { openLog } = require(join(dist, 'src/engines/embedded/log/open-log.js'));
const { openEventStoreDb } = require(join(dist, 'src/engines/eventstoredb/open-event-store-db.js'));
const { SYSTEM_CLOCK } = require(join(dist, 'src/runtime/clock.js'));
const { claimDecider } = require(join(dist, 'src/domain/claims/claim.js'));
const { ClaimWriter } = require(join(dist, 'src/domain/claims/claim-writer.js'));
const { load } = require(join(dist, 'src/kernel/decider.js'));

const AT = '2026-03-01T12:00:00.000Z';

function die() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

async function write(log, writer, command) {
  if (Array.isArray(command)) return writer.create(command, AT);
  const known = await load(log, claimDecider, command.id);
  const { version } = known.state;
  const change = { at: AT, version, claim: command.claim, screening: { statusId: 2 } };
  return writer.revise(command.id, change, known);
}

async function main() {
  const log = where.startsWith('esdb:') ? await openEventStoreDb(where) : (await openLog(where, false)).log;
  const append = log.append.bind(log);
  log.append = async (stream, ...rest) => {
    const isThere = category !== undefined && new RegExp(`^${category}-([0-9a-f]+|claim)$`).test(stream);
    if (isThere && when === 'before') await die();
    const appended = await append(stream, ...rest);
    if (isThere) await die();
    return appended;
  };
  const writer = new ClaimWriter(SYSTEM_CLOCK, log);
  const outcomes = await Promise.all(
    JSON.parse(commands).map((command) =>
      write(log, writer, command).then(
        () => 'ok',
        ({ code, message }) => code ?? message,
      ),
    ),
  );
  process.stdout.write(outcomes.map((outcome) => `${outcome}\n`).join(''));
  await log.close();
}

void main();
