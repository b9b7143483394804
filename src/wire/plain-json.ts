/**
 * The same text as `JSON.stringify`, for values that `JSON.parse` has read from a text without a backslash, or parts of
 * them: no string needs escaping, which halves the time.
 */
export function plainJson(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`;
  if (!isObject(value)) return String(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value) text += (text === '' ? '' : ',') + plainJson(element);
    return `[${text}]`;
  }
  for (const key in value) text += `${text === '' ? '"' : ',"'}${key}":${plainJson(value[key])}`;
  return `{${text}}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
