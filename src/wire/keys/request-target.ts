/** A name and a value, as sent and decoded. */
export interface SentKey {
  /** In lower case: names are compared without it. */
  readonly name: string;
  /** Percent-decoded, `+` a space; absent if the encoding is malformed. */
  readonly value: string | undefined;
  readonly sent: string;
}

const EXTENSIONS = ['json', 'xml', 'csv', 'ics', 'ndjson'] as const;
export type Extension = (typeof EXTENSIONS)[number];

/** A parsed request target (`docs/decisions.md#a2`, `docs/decisions.md#a3`). */
export interface RequestTarget {
  /**
   * The path that selects the route: without keys, extension, trailing slash and query; percent-encoded where
   * necessary (`docs/decisions.md#x73`).
   */
  readonly path: string;
  readonly extension: Extension | undefined;
  /** Matrix keys of all segments in order, without empty ones. */
  readonly matrix: readonly SentKey[];
  /** Keys after `?`, likewise. */
  readonly query: readonly SentKey[];
  /** What has no `=`, in lower case, in path or query: the `3` of `;statusId=2;3`. */
  readonly bare: readonly string[];
}

const ORIGIN = /^https?:\/\/[^/?]*/i;
const EXTENSION = new RegExp(`\\.(${EXTENSIONS.join('|')})$`);

/** The last one that was parsed: a target is routed, then read. */
let last: { readonly target: string; readonly parsed: RequestTarget } | undefined;

/** Parses a raw request target; any text has a result. */
export function parseRequestTarget(target: string): RequestTarget {
  if (last?.target !== target) last = { target, parsed: parsedTarget(target) };
  return last.parsed;
}

function parsedTarget(target: string): RequestTarget {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '');
  const end = local.indexOf('?');
  const segments = (end === -1 ? local : local.slice(0, end)).split('/').map(partsOf);
  const pairs = segments.flatMap(([, ...keys]) => keys);
  const queried = end === -1 ? [] : local.slice(end + 1).split('&');
  const bare = bareNames([...pairs, ...queried]);
  return { ...pathIn(segments), matrix: sentKeys(pairs), query: sentKeys(queried), bare };
}

function pathIn(parts: readonly (readonly string[])[]): Pick<RequestTarget, 'path' | 'extension'> {
  const segments = parts.map(([name = '']) => unreservedDecoded(name));
  if (segments.length > 2 && segments.at(-1) === '') segments.pop();
  const withExtension = segments.join('/');
  const extension = EXTENSION.exec(withExtension)?.[1] as Extension | undefined;
  const path = extension === undefined ? withExtension : withExtension.slice(0, -extension.length - 1);
  return { path: path === '' ? '/' : path, extension };
}

/**
 * The name of a segment and its keys. Without a literal semicolon an encoded one separates them, as a client sends it
 * that encodes them all as one text: they are decoded once (`docs/decisions.md#a2`).
 */
function partsOf(segment: string): string[] {
  if (segment.includes(';') || !segment.includes('%')) return segment.split(';');
  const [name = '', ...keys] = segment.split(/%3b/i);
  return [name, ...keys.map((key) => key.replace(ENCODED, decodedOrSent))];
}

/** An encoded ASCII character, or a run of other bytes. */
const ENCODED = /%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi;

/** Letters, digits and the like mean the same whether they are percent-encoded or not (RFC 3986, 2.3). */
function unreservedDecoded(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%[0-9a-f]{2}/gi, (sent) => {
    const character = String.fromCharCode(Number.parseInt(sent.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : sent;
  });
}

/** `name=value` of which neither is empty. */
function sentKeys(pairs: readonly string[]): SentKey[] {
  return pairs.flatMap((pair) => {
    const equals = pair.indexOf('=');
    if (equals < 1 || equals === pair.length - 1) return [];
    const name = decoded(pair.slice(0, equals));
    const sent = pair.slice(equals + 1);
    return name === undefined ? [] : [{ name: name.toLowerCase(), value: decoded(sent), sent }];
  });
}

function bareNames(pairs: readonly string[]): string[] {
  return pairs.filter((pair) => !/=|^$/.test(pair)).map((pair) => (decoded(pair) ?? pair).toLowerCase());
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function decodedOrSent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
