import { constants } from 'node:os';
import { EngineUnavailable } from '../../kernel/event-log';

/** Messages for SQLite's primary result codes. Any other code is a bug of ours. */
const CODES: Readonly<Record<number, string>> = {
  3: 'access to its files is denied',
  5: 'another process has locked it',
  6: 'another process has locked it',
  7: 'there is not enough memory',
  8: 'it is read-only',
  10: 'reading or writing its file failed',
  11: 'its file is damaged',
  13: 'the disk is full',
  14: 'its file cannot be opened',
  15: 'another process has locked it',
  22: 'the file system does not support a file of this size',
  26: 'its file is damaged',
};

/** The driver's errors when reading several rows have no code; SQLite's fixed messages identify them. */
const MESSAGES: Readonly<Record<string, number>> = {
  'access permission denied': 3,
  'database is locked': 5,
  'database table is locked': 6,
  'out of memory': 7,
  'attempt to write a readonly database': 8,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'locking protocol': 15,
  'large file support is disabled': 22,
  'file is not a database': 26,
};

/** The driver's message for an integer that is never stored: the file is damaged. */
const TOO_LARGE = /^Value is too large to be represented/;

/** Messages for the system errors behind an I/O error, where the driver reports them. */
const SYSTEM: Readonly<Record<number, string>> = {
  [constants.errno.EACCES]: 'access to its files is denied',
  [constants.errno.EPERM]: 'access to its files is denied',
  [constants.errno.ENOSPC]: 'the disk is full',
  [constants.errno.EDQUOT]: 'the disk is full',
  [constants.errno.EFBIG]: 'its file may not grow',
  [constants.errno.EROFS]: 'it is read-only',
};

/**
 * Translates an error of SQLite. Failures of the machine become `EngineUnavailable`, with a message for operators that contains
 * no path; bugs are returned as they are. `subject` is what failed: "the event log".
 */
export function toFailure(subject: string, error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('message' in error)) return error;
  const system = 'systemErrno' in error ? SYSTEM[Number(error.systemErrno)] : undefined;
  const message = String(error.message);
  const number = 'sqliteCode' in error ? Number(error.sqliteCode) & 0xff : MESSAGES[message];
  const code = CODES[TOO_LARGE.test(message) ? 11 : (number ?? NaN)];
  if (code === undefined) return error;
  return new EngineUnavailable(`${subject} is not available: ${system ?? code}`, { cause: error });
}
