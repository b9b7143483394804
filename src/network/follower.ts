import { type EventLog } from '../kernel/event-log';
import { type Clock } from '../runtime/clock';
import { FollowedLog } from '../runtime/followed-log';
import { Directory } from './directory';
import { DIRECTORY_PREFIXES } from './events';

/** What has a directory: the present one, or that of a position of the log. */
export abstract class DirectoryView {
  abstract readonly directory: Directory;
}

export class FollowedDirectory extends FollowedLog {
  readonly directory: Directory;

  /** `report` receives which events it cannot use, and continues without. */
  constructor(
    clock: Clock,
    log: EventLog,
    signal: AbortSignal,
    timeoutMs?: number,
    onBug?: (failure: unknown) => void,
    report: (failure: string) => void = () => undefined,
  ) {
    const directory = new Directory();
    const follower = {
      prefixes: DIRECTORY_PREFIXES,
      apply: (event: Parameters<Directory['apply']>[0]): void => {
        const before = directory.unusable.length;
        directory.apply(event);
        for (const { stream, revision, error } of directory.unusable.slice(before))
          report(
            `${stream}@${revision} of the reference data is ignored (affilog parked list directory): ${error}`,
          );
      },
      subject: 'the directory',
    };
    super(clock, log, follower, signal, timeoutMs, onBug);
    this.directory = directory;
  }
}
