import { type Position, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { Directory } from './directory';
import { DIRECTORY_PREFIXES } from './events';

/** The directory as of a position, or of everything there is. */
export async function directoryAt(log: EventLog, position?: Position): Promise<Directory> {
  const directory = new Directory();
  if (position === START) return directory;
  for await (const { events } of log.readAll({ after: START, prefixes: DIRECTORY_PREFIXES })) {
    for (const event of events) {
      if (position !== undefined && event.position > position) return directory;
      directory.apply(event);
    }
  }
  return directory;
}
