import { type NewEvent, NO_STREAM } from '../kernel/event';
import {
  APPEND_LIMITS,
  type Appended,
  EngineUnavailable,
  RevisionConflict,
  UnacceptableAppend,
} from '../kernel/event-log';
import { APPEND_SECONDS, APPENDED_EVENTS, APPENDS, type CountedLog } from '../runtime/metrics';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Validates an append, in every engine. Raises `UnacceptableAppend` if it exceeds `APPEND_LIMITS`, if a name is empty
 * or starts with `$` (reserved by EventStoreDB), if an id is not a lower-case UUID, or if a text cannot be stored
 * unchanged. Of JSON it checks only the braces, as callers have just serialized it.
 *
 * Returns the size as counted by the limits: bytes of `type`, `data` and `meta` in UTF-8.
 */
export function checkAppend(stream: string, expected: number, events: readonly NewEvent[]): number {
  if (!isName(stream)) throw new UnacceptableAppend(`"${stream}" is not a valid name of a stream`);
  if (!Number.isSafeInteger(expected) || expected < NO_STREAM)
    throw new UnacceptableAppend(
      `invalid revision ${expected}: expected an integer of at least ${NO_STREAM}`,
    );
  if (events.length > APPEND_LIMITS.events)
    throw new UnacceptableAppend(
      `${events.length} events in one append: expected at most ${APPEND_LIMITS.events}`,
    );
  let bytes = 0;
  let index = 0;
  for (const { id, type, data, meta } of events) {
    if (!UUID.test(id)) throw refused(index, `id "${id}" is not a lower-case UUID`);
    if (!isName(type)) throw refused(index, `"${type}" is not a valid type of an event`);
    if (!isObjectText(data)) throw refused(index, 'data is not a JSON object');
    if (!isObjectText(meta)) throw refused(index, 'meta is not a JSON object');
    bytes += Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(meta);
    index += 1;
  }
  if (bytes > APPEND_LIMITS.bytes)
    throw new UnacceptableAppend(`${bytes} bytes in one append: expected at most ${APPEND_LIMITS.bytes}`);
  return bytes;
}

function refused(index: number, why: string): UnacceptableAppend {
  return new UnacceptableAppend(`event ${index + 1} of the append: ${why}`);
}

function isName(text: string): boolean {
  return text !== '' && !text.startsWith('$') && isStorable(text);
}

function isObjectText(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}') && isStorable(text);
}

/** UTF-8 cannot encode lone surrogates, and U+0000 ends a text in some stores. Valid JSON contains neither. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

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
