import { constants } from 'node:os';
import { EngineUnavailable } from '../../kernel/event-log';

/** What SQLite's primary result codes tell an operator; any other one is a bug of ours. */
const CODES: Readonly<Record<number, string>> = {
  5: 'another process has kept it locked',
  6: 'another process has kept it locked',
  7: 'there is not enough memory',
  8: 'it may not be written: it is read-only',
  10: 'reading or writing its file failed',
  11: 'its file is damaged',
  13: 'the disk is full',
  14: 'its file cannot be opened',
  15: 'another process has kept it locked',
  22: 'the file system does not take a file of this size',
  26: 'its file is damaged',
};

/** What lies behind an input or output error, where the system says it. */
const SYSTEM: Readonly<Record<number, string>> = {
  [constants.errno.EACCES]: 'access to its files is denied',
  [constants.errno.ENOSPC]: 'the disk is full',
  [constants.errno.EDQUOT]: 'the disk is full',
  [constants.errno.EROFS]: 'it may not be written: it is read-only',
};

/**
 * An error of SQLite as the ports raise it: `EngineUnavailable` when it is the machine's fault, with a message
 * for an operator that names no path; a bug comes back as it is. `subject` could not answer: "the event log".
 */
export function toUnavailable(subject: string, error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('sqliteCode' in error)) return error;
  const system = 'systemErrno' in error ? SYSTEM[Number(error.systemErrno)] : undefined;
  const code = CODES[Number(error.sqliteCode) & 0xff];
  if (code === undefined) return error;
  return new EngineUnavailable(`${subject} is not available: ${system ?? code}`, { cause: error });
}
