import { NO_STREAM, type NewEvent } from '../kernel/event';
import { APPEND_LIMITS, UnacceptableAppend } from '../kernel/event-log';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * What every engine refuses before it does anything (`UnacceptableAppend`): an append over `APPEND_LIMITS`, a
 * name that is empty or begins with `$` (EventStoreDB's own), an id that is no lower-case UUID, text that would
 * not come back to the letter. Of JSON only the braces are looked at: whoever made the text has just made it.
 *
 * Returns the size that counts: bytes of `type`, `data` and `meta` in UTF-8.
 */
export function checkAppend(stream: string, expected: number, events: readonly NewEvent[]): number {
  if (!isName(stream)) throw new UnacceptableAppend(`"${stream}" cannot be the name of a stream`);
  if (!Number.isSafeInteger(expected) || expected < NO_STREAM)
    throw new UnacceptableAppend(`expected revision ${expected} is not an integer from ${NO_STREAM}`);
  if (events.length > APPEND_LIMITS.events)
    throw new UnacceptableAppend(`${events.length} events: an append holds at most ${APPEND_LIMITS.events}`);
  let bytes = 0;
  for (const [index, { id, type, data, meta }] of events.entries()) {
    if (!UUID.test(id)) throw refused(index, `id "${id}" is not a UUID in lower case`);
    if (!isName(type)) throw refused(index, `"${type}" cannot be the type of an event`);
    if (!isObjectText(data)) throw refused(index, 'data is not the JSON text of an object');
    if (!isObjectText(meta)) throw refused(index, 'meta is not the JSON text of an object');
    bytes += Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(meta);
  }
  if (bytes > APPEND_LIMITS.bytes)
    throw new UnacceptableAppend(`${bytes} bytes: an append holds at most ${APPEND_LIMITS.bytes}`);
  return bytes;
}

function refused(index: number, why: string): UnacceptableAppend {
  return new UnacceptableAppend(`event ${index + 1} of the append: ${why}`);
}

function isName(text: string): boolean {
  return text !== '' && !text.startsWith('$') && isKept(text);
}

function isObjectText(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}') && isKept(text);
}

/** UTF-8 has no lone surrogates, and U+0000 ends a text in some stores; JSON text has neither. */
function isKept(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
