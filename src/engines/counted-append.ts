import { type Appended, EngineUnavailable, RevisionConflict } from '../kernel/event-log';
import { APPEND_SECONDS, APPENDED_EVENTS, APPENDS, type CountedLog } from '../runtime/metrics';

/** Counts an append of so many events, and how long it takes. */
export async function countedAppend(
  log: CountedLog,
  events: number,
  append: () => Promise<Appended>,
): Promise<Appended> {
  const began = performance.now();
  try {
    const appended = await append();
    APPENDS.add(1, { log, result: 'ok' });
    APPENDED_EVENTS.add(events, { log });
    return appended;
  } catch (error) {
    const isConflict = error instanceof RevisionConflict;
    const otherwise = error instanceof EngineUnavailable ? 'unavailable' : 'refused';
    APPENDS.add(1, { log, result: isConflict ? 'conflict' : otherwise });
    throw error;
  } finally {
    APPEND_SECONDS.observe((performance.now() - began) / 1000, { log });
  }
}
