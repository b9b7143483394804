import { isObject } from '../../kernel/values';

/** A JSON text; `pretty` adds line breaks (Document 1, Conventions 6). */
export function writeJson(value: unknown, options: { readonly pretty?: boolean } = {}): string {
  return JSON.stringify(value, null, options.pretty === true ? 2 : undefined);
}

/** The same text in pieces: each item of a list, or of a list directly in an object, is one. */
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

/** The arguments of a JSONP call: the JSON text of the result in pieces, or the failure. */
export type JsonpCall =
  { readonly result: Iterable<string> } | { readonly statusCode: number; readonly message: string };

const MAX_NAME = 128;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/** Reserved words, which cannot name a function. */
const RESERVED = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally
  for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield`.split(/\s+/),
);

/** True for a dotted JavaScript identifier of at most 128 characters (`docs/decisions.md#a5`). */
export function isJsonpName(name: string): boolean {
  const [first = '', ...members] = name.split('.');
  return (
    name.length <= MAX_NAME &&
    !RESERVED.has(first) &&
    [first, ...members].every((part) => IDENTIFIER.test(part))
  );
}

/** The comment prevents the name from being the first bytes of the answer, which could make it another file type. */
const BEFORE_NAME = '/**/';
const AFTER_RESULT = ', undefined, undefined);';

/** The script of a JSONP answer (Document 1, Conventions 5), in pieces: `name(result, statusCode, message)`. */
export function* jsonpPieces(name: string, call: JsonpCall): Generator<string> {
  yield `${BEFORE_NAME}${name}(`;
  if ('result' in call) {
    yield* scriptPieces(call.result);
    yield AFTER_RESULT;
  } else {
    yield `undefined, ${call.statusCode}, ${inScript(JSON.stringify(call.message))});`;
  }
}

/** The script of a JSONP answer whose result comes in pieces. */
export async function* calledWith(
  name: string,
  result: AsyncIterable<Iterable<string>>,
): AsyncGenerator<Iterable<string>> {
  yield [BEFORE_NAME, name, '('];
  for await (const pieces of result) yield scriptPieces(pieces);
  yield [AFTER_RESULT];
}

function* scriptPieces(pieces: Iterable<string>): Generator<string> {
  for (const piece of pieces) yield inScript(piece);
}

/** JSON that is safe in scripts: older scripts do not allow line separators in strings. */
export function inScript(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
