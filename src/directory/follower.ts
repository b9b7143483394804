import { type EventLog } from '../kernel/event-log';
import { FollowedLog } from '../kernel/followed-log';
import { Directory } from './directory';
import { DIRECTORY_PREFIXES } from './events';

/** A directory that follows the log. */
export class FollowedDirectory extends FollowedLog {
  readonly directory: Directory;

  constructor(log: EventLog, signal: AbortSignal, timeoutMs?: number, onBug?: (failure: unknown) => void) {
    const directory = new Directory();
    const apply = directory.apply.bind(directory);
    super(log, { prefixes: DIRECTORY_PREFIXES, apply, subject: 'the directory' }, signal, timeoutMs, onBug);
    this.directory = directory;
  }
}
