import { type RecordedEvent } from '../../../src/kernel/event';

/** The type of the event that deletes a stream permanently. It is stored in the stream's metadata stream. */
export const TOMBSTONE = '$streamDeleted';

/**
 * Encodes a client's name of a stream or a type for the log. An `EventLog` reserves names that start with `$`, so they
 * are stored with a leading dot. Names that look encoded already get another dot, so that the encoding is reversible.
 */
export function storedName(name: string): string {
  return /^\.*\$/.test(name) ? `.${name}` : name;
}

/** The inverse of `storedName`. */
export function clientName(stored: string): string {
  return /^\.+\$/.test(stored) ? stored.slice(1) : stored;
}

/** The metadata stream of a stream; its last event has the current metadata. */
export function metastreamOf(name: string): string {
  return `$$${name}`;
}

/** The stream that a metadata stream belongs to; undefined for any other stream. */
export function originalOf(name: string): string | undefined {
  return name.startsWith('$$') ? name.slice(2) : undefined;
}

/**
 * Prefixes of stored names that cover all streams whose client names have one of these prefixes. They match a superset,
 * so the result must be filtered again. Undefined if they would match everything.
 */
export function storedPrefixes(prefixes: readonly string[]): readonly string[] | undefined {
  if (prefixes.includes('')) return undefined;
  // Tombstones are stored in the metadata stream, but belong to the stream itself.
  return prefixes.flatMap((prefix) => [
    /^\.+$/.test(prefix) ? prefix : storedName(prefix),
    storedName(metastreamOf(prefix)),
  ]);
}

const STORED_TOMBSTONE = storedName(TOMBSTONE);

/** The stream of an event as clients see it: a tombstone belongs to the stream that it deletes. */
export function clientStream(event: Pick<RecordedEvent, 'stream' | 'type'>): string {
  const stream = clientName(event.stream);
  return event.type === STORED_TOMBSTONE ? (originalOf(stream) ?? stream) : stream;
}
