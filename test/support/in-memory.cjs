/**
 * Puts temporary folders of tests in memory, if the system has such a file system with enough space, so that tests do
 * not wait for a disk. Killed processes leave the same files there as on a disk. TMPDIR selects another folder.
 */
const { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } = require('node:fs');

const MEMORY = '/dev/shm';
/** Required bytes: several times what the tests have ever used. */
const ROOM = 6 * 1024 ** 3;

function isUsable() {
  const { bavail, bsize } = statfsSync(MEMORY);
  if (Math.min(bavail * bsize, process.availableMemory()) < ROOM) return false;
  // Elasticsearch unpacks code there and loads it.
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return !mounts.some((line) => line.includes(` ${MEMORY} `) && line.includes('noexec'));
}

/** A folder for the lifetime of this process, so that nothing a test leaves stays in memory. */
function ownFolder() {
  const folder = mkdtempSync(`${MEMORY}/affilog-tests-`);
  // Elasticsearch may run as another user.
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

try {
  if (!process.env.TMPDIR && isUsable()) process.env.TMPDIR = ownFolder();
} catch {
  // Not available: keep the system's folder.
}
