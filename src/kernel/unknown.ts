/** What is known of a value that another program has made, or of an error. */

/** An array is one too. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The object, not an array, that a text is in JSON; undefined if it is none. */
export function jsonObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A text with a time, such as an ISO 8601 instant. */
export function isTime(value: unknown): value is string {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

/** The code of an error, as those of the system and of libraries have: `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && 'code' in error ? String(error['code']) : undefined;
}
