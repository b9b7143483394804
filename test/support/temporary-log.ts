import { openLog } from '../../src/engines/embedded/log/open-log';
import { type RecordedEvent, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { logFolder } from './log-folder';

/** Calls `use` with an empty log in a temporary folder. */
export async function withLog<T>(use: (log: EventLog, file: string) => Promise<T>): Promise<T> {
  const { file, remove } = await logFolder();
  const { log } = await openLog(file, false);
  try {
    return await use(log, file);
  } finally {
    await log.close();
    await remove();
  }
}

export async function eventsOf(log: EventLog): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for await (const { events } of log.readAll({ after: START })) all.push(...events);
  return all;
}

/** The log with some methods replaced, to simulate failures of an engine. */
export function overrideLog(log: EventLog, methods: Partial<EventLog>): EventLog {
  return new Proxy(log, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
