/** A JSON text; `pretty` adds line breaks (Document 1, Conventions 6). */
export function writeJson(value: unknown, options: { readonly pretty?: boolean } = {}): string {
  return JSON.stringify(value, null, options.pretty === true ? 2 : undefined);
}

/**
 * The same text of an object or a list, in pieces: each item of the list, or of a list directly in the object,
 * is one.
 */
export function* jsonPieces(value: object, options: { readonly pretty?: boolean } = {}): Generator<string> {
  const isPretty = options.pretty === true;
  const line = (depth: number) => (isPretty ? `\n${'  '.repeat(depth)}` : '');
  // In a JSON text no string has a line break.
  const write = (part: unknown, depth: number) => writeJson(part, options).replaceAll('\n', line(depth));
  if (Array.isArray(value)) {
    yield* items(value, 0);
    return;
  }
  let before = '{';
  for (const [name, child] of Object.entries(value) as [string, unknown][]) {
    if (child === undefined) continue;
    yield `${before}${line(1)}${writeJson(name)}${isPretty ? ': ' : ':'}`;
    before = ',';
    if (Array.isArray(child)) yield* items(child, 1);
    else yield write(child, 1);
  }
  yield before === '{' ? '{}' : `${line(0)}}`;

  function* items(list: readonly unknown[], depth: number): Generator<string> {
    for (const [at, item] of list.entries())
      yield `${at === 0 ? '[' : ','}${line(depth + 1)}${write(item, depth + 1)}`;
    yield list.length === 0 ? '[]' : `${line(depth)}]`;
  }
}

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

/** A JSON text for a message, cut where it is long. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
