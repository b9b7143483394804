/**
 * Where temporary folders of tests lie: in memory, where a system has such a file system and room in it, so that no
 * test waits for a disk. Processes that are killed leave there what they would leave on a disk. TMPDIR names another
 * folder.
 */
const { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } = require('node:fs');

const MEMORY = '/dev/shm';
/** Bytes: several times what the tests have ever used. */
const ROOM = 6 * 1024 ** 3;

function isUsable() {
  const { bavail, bsize } = statfsSync(MEMORY);
  if (Math.min(bavail * bsize, process.availableMemory()) < ROOM) return false;
  // Elasticsearch loads code that it unpacks there.
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return !mounts.some((line) => line.includes(` ${MEMORY} `) && line.includes('noexec'));
}

/** A folder for as long as this process runs: whatever a test leaves there is not to stay in memory. */
function ownFolder() {
  const folder = mkdtempSync(`${MEMORY}/affilog-tests-`);
  // Elasticsearch may run as somebody else.
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

try {
  if (!process.env.TMPDIR && isUsable()) process.env.TMPDIR = ownFolder();
} catch {
  // There is none: the folder of the system stays.
}
