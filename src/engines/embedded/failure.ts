import { constants } from 'node:os';
import { EngineUnavailable } from '../../kernel/event-log';

const DAMAGED = 'its file is damaged';
const LOCKED = 'another process has locked it';

/**
 * SQLite's result codes for failures of the machine: the primary code, its fixed message in SQLite, and ours. The driver's errors
 * when reading several rows have no code. Any other error is a bug of ours.
 */
const FAILURES = [
  [3, 'access permission denied', 'access to its files is denied'],
  [5, 'database is locked', LOCKED],
  [6, 'database table is locked', LOCKED],
  [7, 'out of memory', 'there is not enough memory'],
  [8, 'attempt to write a readonly database', 'it is read-only'],
  [10, 'disk I/O error', 'reading or writing its file failed'],
  [11, 'database disk image is malformed', DAMAGED],
  [13, 'database or disk is full', 'the disk is full'],
  [14, 'unable to open database file', 'its file cannot be opened'],
  [15, 'locking protocol', LOCKED],
  [22, 'large file support is disabled', 'the file system does not support a file of this size'],
  [26, 'file is not a database', DAMAGED],
] as const;

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
  const known = FAILURES.find(([code, text]) =>
    'sqliteCode' in error ? code === (Number(error.sqliteCode) & 0xff) : text === message,
  );
  const reason = TOO_LARGE.test(message) ? DAMAGED : known?.[2];
  if (reason === undefined) return error;
  return new EngineUnavailable(`${subject} is not available: ${system ?? reason}`, { cause: error });
}

/** Runs work on files. Raises `EngineUnavailable`, without a path in the message, if it fails. */
export function onDisk<Result>(subject: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new EngineUnavailable(`${subject} is not available: its folder cannot be used (${code})`, {
      cause: error,
    });
  }
}
