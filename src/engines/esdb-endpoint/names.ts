/**
 * What EventStoreDB calls a stream or a type, as the log keeps it. An `EventLog` leaves names that begin with `$`
 * to EventStoreDB itself, so that they are kept with a dot before them; names that look like it already get
 * one more, so that every name comes back as it was.
 */
export function storedName(name: string): string {
  return /^\.*\$/.test(name) ? `.${name}` : name;
}

/** The name that was given to `storedName`. */
export function shownName(stored: string): string {
  return /^\.+\$/.test(stored) ? stored.slice(1) : stored;
}

/** The stream whose last event holds the metadata of a stream. */
export function metastreamOf(name: string): string {
  return `$$${name}`;
}

/** The stream that a metadata stream is about; undefined for any other stream. */
export function originalOf(name: string): string | undefined {
  return name.startsWith('$$') ? name.slice(2) : undefined;
}

/**
 * Prefixes of stored names that hold all streams whose shown names have one of these: a superset, what they
 * find is to be looked at again. Undefined where they would be everything.
 */
export function storedPrefixes(prefixes: readonly string[]): readonly string[] | undefined {
  if (prefixes.includes('')) return undefined;
  // Tombstones are kept in the metadata stream, but belong to the stream itself.
  return prefixes.flatMap((prefix) => [
    /^\.+$/.test(prefix) ? prefix : storedName(prefix),
    storedName(metastreamOf(prefix)),
  ]);
}
