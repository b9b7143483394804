/** A JSON text; `pretty` adds line breaks (Document 1, Conventions 6). */
export function writeJson(value: unknown, options: { readonly pretty?: boolean } = {}): string {
  return JSON.stringify(value, null, options.pretty === true ? 2 : undefined);
}

/** The same text of an object, in pieces: each item of a list that stands directly in it is one. */
export function* jsonPieces(value: object, options: { readonly pretty?: boolean } = {}): Generator<string> {
  const isPretty = options.pretty === true;
  const line = (depth: number) => (isPretty ? `\n${'  '.repeat(depth)}` : '');
  // In a JSON text no string has a line break.
  const write = (part: unknown, depth: number) => writeJson(part, options).replaceAll('\n', line(depth));
  let before = '{';
  for (const [name, child] of Object.entries(value) as [string, unknown][]) {
    if (child === undefined) continue;
    yield `${before}${line(1)}${writeJson(name)}${isPretty ? ': ' : ':'}`;
    before = ',';
    if (!Array.isArray(child) || child.length === 0) {
      yield write(child, 1);
      continue;
    }
    for (const [at, item] of child.entries()) yield `${at === 0 ? '[' : ','}${line(2)}${write(item, 2)}`;
    yield `${line(1)}]`;
  }
  yield before === '{' ? '{}' : `${line(0)}}`;
}
