import { EngineUnavailable } from './event-log';

/**
 * An error of the file system (a full disk, denied access, a file where a folder has to be) as `EngineUnavailable`; any
 * other one as it is. `what` happened: "the download could not be written to disk".
 */
export function unavailableIfSystem(what: string, error: unknown): unknown {
  const isSystem = typeof error === 'object' && error !== null && 'syscall' in error && 'code' in error;
  return isSystem ? new EngineUnavailable(`${what} (${String(error.code)})`, { cause: error }) : error;
}
