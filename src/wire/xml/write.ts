/** An element: `$` has its attributes, `_` its text, other keys its children in order; absent ones are left out. */
export interface XmlElement {
  readonly [name: string]: XmlElement | readonly XmlContent[] | string | number | boolean | undefined;
}

/** Content that may be repeated under one name. */
export type XmlContent = XmlElement | string | number | boolean;

interface XmlLayout {
  readonly pretty?: boolean;
}

/** An XML document of one root: `{ result: {…} }`. Characters that XML cannot carry become U+FFFD. */
export function writeXml(document: XmlElement, layout?: XmlLayout): string {
  return [...xmlPieces(document, layout)].join('');
}

/** The same in pieces, for long lists. What stands two levels below the root is one piece each. */
export function* xmlPieces(document: XmlElement, { pretty = false }: XmlLayout = {}): Generator<string> {
  const line = pretty ? '\n' : '';
  yield '<?xml version="1.0" encoding="UTF-8"?>';
  for (const [name, root] of Object.entries(document)) {
    if (root === undefined || isList(root)) continue;
    yield line;
    yield* pieces(name, root, { line, levels: 2 });
  }
}

/**
 * The text of one element that stands this many levels below the root, with the line break before it if there is one.
 */
export function xmlPiece(
  name: string,
  content: XmlContent,
  depth: number,
  { pretty = false }: XmlLayout = {},
): string {
  const line = pretty ? `\n${'  '.repeat(depth)}` : '';
  return line + write(name, content, line);
}

/** `line`: what a line begins with, empty if all is to be one. */
function* pieces(
  name: string,
  content: XmlContent,
  { line, levels }: { readonly line: string; readonly levels: number },
): Generator<string> {
  if (levels === 0 || typeof content !== 'object' || !hasElements(content)) {
    yield write(name, content, line);
    return;
  }
  const inner = below(line);
  yield `<${name}${attributesOf(content)}>`;
  for (const [child, its] of Object.entries(content)) {
    if (its === undefined || child === ATTRIBUTES) continue;
    for (const one of isList(its) ? its : [its]) {
      yield inner;
      if (child === TEXT) yield escapedText(one);
      else yield* pieces(child, one, { line: inner, levels: levels - 1 });
    }
  }
  yield `${line}</${name}>`;
}

function hasElements(content: XmlElement): boolean {
  return Object.entries(content).some(
    ([name, child]) =>
      name !== ATTRIBUTES && name !== TEXT && child !== undefined && !(isList(child) && child.length === 0),
  );
}

function write(name: string, content: XmlContent, line: string): string {
  if (typeof content !== 'object')
    return content === '' ? `<${name}/>` : `<${name}>${escapedText(content)}</${name}>`;
  const body = inside(content, line);
  const head = `<${name}${attributesOf(content)}`;
  return body === '' ? `${head}/>` : `${head}>${body}</${name}>`;
}

/** Text alone stands between the tags, children stand on lines of their own. */
function inside(content: XmlElement, line: string): string {
  const inner = below(line);
  let body = '';
  let text: string | undefined;
  for (const name of Object.keys(content)) {
    const child = content[name];
    if (child === undefined || name === ATTRIBUTES) continue;
    if (name === TEXT) {
      text = escapedText(child);
      body += inner + text;
    } else if (isList(child)) {
      for (const item of child) body += inner + write(name, item, inner);
    } else {
      body += inner + write(name, child, inner);
    }
  }
  if (text !== undefined && body.length === inner.length + text.length) return text;
  return body === '' ? '' : body + line;
}

function below(line: string): string {
  return line === '' ? '' : `${line}  `;
}

const TEXT = '_';
const ATTRIBUTES = '$';

function attributesOf(content: XmlContent): string {
  const attributes = typeof content === 'object' ? content[ATTRIBUTES] : undefined;
  if (typeof attributes !== 'object' || isList(attributes)) return '';
  let text = '';
  for (const name of Object.keys(attributes)) {
    const value = attributes[name];
    if (value !== undefined) text += ` ${name}="${escapedAttribute(value)}"`;
  }
  return text;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
};

/** What may have to be written otherwise, in text and in attributes: what XML cannot carry is among it. */
const SPECIAL = {
  text: /[&<>\r\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]/,
  attribute: /[&<"\0-\x1f\ud800-\udfff\ufffe\uffff]/,
} as const;

function escapedText(content: unknown): string {
  const text = String(content);
  if (!SPECIAL.text.test(text)) return text;
  return withoutForbidden(text).replace(/[&<>\r]/g, (character) => ESCAPES[character] ?? '');
}

function escapedAttribute(value: unknown): string {
  const text = String(value);
  if (!SPECIAL.attribute.test(text)) return text;
  return withoutForbidden(text).replace(/[&<"\t\n\r]/g, (character) => ESCAPES[character] ?? '');
}

export function isList(child: XmlContent | readonly XmlContent[]): child is readonly XmlContent[] {
  return Array.isArray(child);
}

const NOT_IN_XML =
  /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** The first character of a text that XML 1.0 does not allow. */
interface ForbiddenCharacter {
  /** In UTF-16 units. */
  readonly index: number;
  readonly codePoint: number;
}

/** The first character that XML does not allow, or lone surrogate (Document 1, Conventions 9). */
export function forbiddenCharacter(text: string): ForbiddenCharacter | undefined {
  const index = text.search(NOT_IN_XML);
  return index < 0 ? undefined : { index, codePoint: text.charCodeAt(index) };
}

const EVERY_ONE = new RegExp(NOT_IN_XML, 'g');

/** The text with such characters replaced by U+FFFD. */
export function withoutForbidden(text: string): string {
  return NOT_IN_XML.test(text) ? text.replace(EVERY_ONE, '\ufffd') : text;
}
