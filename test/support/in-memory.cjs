/**
 * Where temporary folders of tests lie: in memory, where a system has such a file system and room in it, so that no
 * test waits for a disk. Processes that are killed leave there what they would leave on a disk. TMPDIR names another
 * folder.
 */
const { readFileSync, statfsSync } = require('node:fs');

const FOLDER = '/dev/shm';
/** Bytes: several times what the tests have ever used. */
const ROOM = 6 * 1024 ** 3;

function isUsable() {
  const { bavail, bsize } = statfsSync(FOLDER);
  if (Math.min(bavail * bsize, process.availableMemory()) < ROOM) return false;
  // Elasticsearch loads code that it unpacks there.
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return !mounts.some((line) => line.includes(` ${FOLDER} `) && line.includes('noexec'));
}

try {
  if (!process.env.TMPDIR && isUsable()) process.env.TMPDIR = FOLDER;
} catch {
  // There is none: the folder of the system stays.
}
