import { NamedError } from '../../kernel/fault';
import { withoutForbidden } from '../../wire/xml/write';
import { parseJson } from '../../wire/json/read';
import { NotParsable } from '../../wire/bytes';
import { parsedUrl } from '../../wire/url';
import { parseXml } from '../../wire/xml/nodes';
import { type ReceiverFormat } from './subscription';
import { type Attributes } from './topic';

/**
 * A text with placeholders, as receivers have it in URL and body (`docs/decisions.md#n10`): the parts in their order.
 */
export type Template = readonly TemplatePart[];

/**
 * Text that stays as it is, or the name of an attribute; `at` is the offset in the template, of a placeholder that of
 * its `$`.
 */
type TemplatePart =
  | { readonly is: 'text'; readonly at: number; readonly text: string }
  | { readonly is: 'placeholder'; readonly at: number; readonly name: string };

/** The first `${` that begins no placeholder. */
interface TemplateFault {
  readonly is: 'fault';
  /** The offset of its `$`. */
  readonly at: number;
  /** What is wrong, to follow a field's name and value. */
  readonly reason: string;
}

/** A placeholder, or the beginning of one. */
const PLACEHOLDER = /\$\{(?:(?<name>[A-Za-z0-9_]+)\})?/g;

/** A single `$`, and braces without one before them, are text. */
export function parseTemplate(text: string): Template | TemplateFault {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const { index: at } = match;
    const name = match.groups?.name;
    if (name === undefined) return faultAt(text, at);
    if (at > end) parts.push({ is: 'text', at: end, text: text.slice(end, at) });
    parts.push({ is: 'placeholder', at, name });
    end = at + match[0].length;
  }
  if (end < text.length) parts.push({ is: 'text', at: end, text: text.slice(end) });
  return parts;
}

export function isTemplate(parsed: Template | TemplateFault): parsed is Template {
  return !('is' in parsed);
}

function faultAt(text: string, at: number): TemplateFault {
  const shown = text.slice(at, at + 20);
  const reason =
    `"${shown}" at character ${at + 1} is no placeholder; expected \${name}, a name of letters, ` +
    'digits and _';
  return { is: 'fault', at, reason };
}

/** The placeholders of a template, each name once. */
export function namesIn(template: Template): readonly string[] {
  return [...new Set(template.flatMap((part) => (part.is === 'placeholder' ? [part.name] : [])))];
}

/** Text, and placeholders with their places. */
export type CompiledTemplate = readonly (
  string | { readonly name: string; readonly place: PlaceholderPlace }
)[];

/** No message can be made of a template. The message follows the name of the field. */
export class UnusableTemplate extends NamedError {}

/** The text of a template; undefined if it is longer than `longest`, in UTF-16 units. */
export function filled(
  template: CompiledTemplate,
  attributes: Attributes,
  longest: number,
): string | undefined {
  let text = '';
  for (const piece of template) {
    text += typeof piece === 'string' ? piece : encoded(piece.place, piece.name, attributes);
    if (text.length > longest) return undefined;
  }
  return text;
}

/** Scheme, user, host and port. */
const ORIGIN = /^https?:\/\/[^\s/?#\\]+/i;

/** Placeholders stand behind the port. Without the fragment, which is not sent. Raises `UnusableTemplate`. */
export function compiledUrl(template: Template): CompiledTemplate {
  const [first] = template;
  const begin = first?.is === 'text' ? first.text : '';
  const origin = ORIGIN.exec(begin)?.[0];
  if (origin === undefined) throw new UnusableTemplate('expected a URL that begins with http:// or https://');
  if (origin === begin && template.length > 1)
    throw new UnusableTemplate('expected placeholders in path, query and fragment only');
  const compiled = withPlaces(withoutFragment(template), () => 'url');
  if (parsedUrl(sample(compiled, 'x')) === undefined) throw new UnusableTemplate('expected a valid URL');
  return compiled;
}

function withoutFragment(template: Template): Template {
  const end = template.findIndex((part) => part.is === 'text' && part.text.includes('#'));
  const last = template[end];
  if (last?.is !== 'text') return template;
  return [...template.slice(0, end), { ...last, text: last.text.slice(0, last.text.indexOf('#')) }];
}

/**
 * The body in its format whatever the values are: that is checked with samples (`docs/decisions.md#n10`). Raises
 * `UnusableTemplate`.
 */
export function compiledBody(template: Template, format: ReceiverFormat): CompiledTemplate {
  try {
    switch (format) {
      case 'JSON':
        return compiledJson(template);
      case 'XML':
        return compiledXml(template);
      case 'custom':
        return withPlaces(template, () => 'raw');
    }
  } catch (error) {
    throw error instanceof NotParsable ? new UnusableTemplate(error.message) : error;
  }
}

function compiledJson(template: Template): CompiledTemplate {
  let isInString = false;
  const places = template.map((part): PlaceholderPlace => {
    if (part.is === 'text') isInString = endsInString(part.text, isInString);
    return isInString ? 'json string' : 'json value';
  });
  const compiled = withPlaces(template, (at) => places[at]);
  // Outside of strings `null`, which is no name of a member; within strings a letter that ends no escape sequence.
  for (const value of [undefined, 'x']) parseJson(Buffer.from(sample(compiled, value)));
  return compiled;
}

function endsInString(text: string, beginsInString: boolean): boolean {
  let isInString = beginsInString;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isInString = !isInString;
    else if (text[at] === '\\' && isInString) at += 1;
  }
  return isInString;
}

function compiledXml(template: Template): CompiledTemplate {
  const places = xmlPlaces(template);
  const misplaced = template.find((part, at) => part.is === 'placeholder' && places[at] === undefined);
  if (misplaced?.is === 'placeholder')
    throw new UnusableTemplate(
      `\${${misplaced.name}} is within a tag, a comment or an instruction: expected text or the value of an attribute`,
    );
  const compiled = withPlaces(template, (at) => places[at]);
  // Without a value, text before and after may become `]]>`.
  // What a declaration may contain is checked when a subscription is posted.
  for (const value of ['x', '']) parseXml(Buffer.from(sample(compiled, value)), { declaresAny: true });
  return compiled;
}

/** Equal placeholders are one object: a body may have ten thousand, and an organisation a thousand bodies. */
function withPlaces(
  template: Template,
  placeOf: (at: number) => PlaceholderPlace | undefined,
): CompiledTemplate {
  const placeholders = new Map<string, { readonly name: string; readonly place: PlaceholderPlace }>();
  return template.map((part, at) => {
    if (part.is === 'text') return part.text;
    const { name } = part;
    const place = placeOf(at) ?? 'raw';
    const key = `${place} ${name}`;
    const one = placeholders.get(key) ?? { name, place };
    placeholders.set(key, one);
    return one;
  });
}

/** The text with the same value everywhere. */
export function sample(template: CompiledTemplate, value: string | number | undefined): string {
  const names = template.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]));
  const attributes = Object.fromEntries(value === undefined ? [] : names.map((name) => [name, value]));
  return filled(template, attributes, Infinity) ?? '';
}

/** The context of the next character; a quote is the value of an attribute in such quotes. */
type XmlContext = 'text' | 'tag' | '"' | "'" | 'comment' | 'cdata' | 'instruction';

/** What begins in text, the longest first. */
const BEGINNINGS = [
  ['<![CDATA[', 'cdata'],
  ['<!--', 'comment'],
  ['<?', 'instruction'],
  ['<', 'tag'],
] as const;

/** What ends a context. */
const ENDS = {
  comment: ['-->', 'text'],
  cdata: [']]>', 'text'],
  instruction: ['?>', 'text'],
  '"': ['"', 'tag'],
  "'": ["'", 'tag'],
} as const;

/**
 * The places of the parts of a template in XML, undefined where no value may stand: names, comments, instructions.
 * Whether the template is well-formed is not checked.
 */
function xmlPlaces(template: Template): readonly (PlaceholderPlace | undefined)[] {
  let context: XmlContext = 'text';
  return template.map((part) => {
    if (part.is === 'text') context = contextAfter(part.text, context);
    if (context === 'cdata') return 'xml cdata';
    return context === 'text' || context === '"' || context === "'" ? 'xml' : undefined;
  });
}

function contextAfter(text: string, start: XmlContext): XmlContext {
  let context = start;
  for (let at = 0; at < text.length;) {
    const next = nextContext(text, at, context);
    if (next === undefined) return context;
    [at, context] = next;
  }
  return context;
}

/** Where the context ends, and the one that follows. */
function nextContext(
  text: string,
  at: number,
  context: XmlContext,
): readonly [number, XmlContext] | undefined {
  if (context === 'text') {
    const begin = text.indexOf('<', at);
    const found = BEGINNINGS.find(([beginning]) => text.startsWith(beginning, begin));
    return begin < 0 || found === undefined ? undefined : [begin + found[0].length, found[1]];
  }
  if (context === 'tag') {
    const end = text.slice(at).search(/[>"']/);
    if (end < 0) return undefined;
    const character = text[at + end];
    return [at + end + 1, character === '"' || character === "'" ? character : 'text'];
  }
  const [end, next] = ENDS[context];
  const found = text.indexOf(end, at);
  return found < 0 ? undefined : [found + end.length, next];
}

/** The context of a placeholder, which determines how its value is encoded (`docs/decisions.md#n10`). */
type PlaceholderPlace = 'url' | 'json string' | 'json value' | 'xml' | 'xml cdata' | 'raw';

/** Texts that are not changed by their encoding: most values. */
const PLAIN = {
  url: /^[\w.~-]*$/,
  json: /^[ !#-[\]-\u{d7ff}]*$/u,
  xml: /^[ !#-%(-;=?-Z^-\ud7ff]*$/u,
} as const;

const ENCODERS: Readonly<Record<Exclude<PlaceholderPlace, 'json value'>, (text: string) => string>> = {
  url: (text) => (PLAIN.url.test(text) ? text : encodeURIComponent(text.toWellFormed())),
  'json string': (text) => (PLAIN.json.test(text) ? text : JSON.stringify(text).slice(1, -1)),
  xml: escapedXml,
  // A CDATA section has no escapes, so it is interrupted.
  'xml cdata': (text) => `]]>${escapedXml(text)}<![CDATA[`,
  raw: (text) => text,
};

/**
 * Characters from which an encoded value is cached: it is in the messages to up to a thousand receivers, several times
 * in each.
 */
const LONG = 1_000;

/** Encoded long values of an occurrence, by place and name. */
const longOnes = new WeakMap<Attributes, Map<string, string>>();

/** The text that stands for a placeholder. */
function encoded(place: PlaceholderPlace, name: string, attributes: Attributes): string {
  const text = textOf(name, attributes);
  if (text === undefined || text.length < LONG) return encodedText(place, name, attributes, text);
  const cached = longOnes.get(attributes) ?? new Map<string, string>();
  longOnes.set(attributes, cached);
  const key = `${place} ${name}`;
  const result = cached.get(key) ?? encodedText(place, name, attributes, text);
  cached.set(key, result);
  return result;
}

function encodedText(
  place: PlaceholderPlace,
  name: string,
  attributes: Attributes,
  text: string | undefined,
): string {
  if (place !== 'json value') return ENCODERS[place](text ?? '');
  if (text === undefined) return 'null';
  return typeof attributes[name] === 'number' ? text : JSON.stringify(text);
}

/** An attribute as it appears in messages, before it is encoded; undefined if it has no value. */
export function textOf(name: string, attributes: Attributes): string | undefined {
  const value: unknown = attributes[name];
  // A custom attribute may be called `constructor`, and have no value.
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const SPECIAL = /[&<>"'\t\n\r]/g;
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * For text and attributes in either quotes: what a parser returns is the same text, in so far as XML can represent it.
 */
function escapedXml(text: string): string {
  if (PLAIN.xml.test(text)) return text;
  const escaped = withoutForbidden(text).replace(
    SPECIAL,
    (character) => NAMED[character] ?? `&#${character.charCodeAt(0)};`,
  );
  // Text must not contain `]]>`, and the template may continue with a `>`.
  return escaped.endsWith(']') ? `${escaped.slice(0, -1)}&#93;` : escaped;
}

/** Most bytes of a URL as it is sent (`docs/decisions.md#n10`). */
export const MAX_URL = 8 * 1024;

/**
 * The URL of a message as it is sent and signed: normalised, without a fragment (`docs/decisions.md#n10`). Its `href`
 * is its origin, path and query. Undefined: the text is no URL.
 */
export function sentUrl(text: string): URL | undefined {
  const url = parsedUrl(text);
  if (url === undefined) return undefined;
  // Setting a part has the URL parsed again, and few URLs need it.
  if (url.href.includes('#')) url.hash = '';
  if (url.search === '' && url.href.endsWith('?')) url.search = '';
  return url;
}
