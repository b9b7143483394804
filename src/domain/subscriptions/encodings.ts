import { withoutForbidden } from '../../wire/characters';
import { type Attributes } from './topic';

/** The context of a placeholder, which determines how its value is encoded (`docs/decisions.md#n10`). */
export type Place = 'url' | 'json string' | 'json value' | 'xml' | 'xml cdata' | 'raw';

/** Texts that are not changed by their encoding: most values. */
const PLAIN = {
  url: /^[\w.~-]*$/,
  json: /^[ !#-[\]-\u{d7ff}]*$/u,
  xml: /^[ !#-%(-;=?-Z^-\ud7ff]*$/u,
} as const;

const ENCODERS: Readonly<Record<Exclude<Place, 'json value'>, (text: string) => string>> = {
  url: (text) => (PLAIN.url.test(text) ? text : encodeURIComponent(text.toWellFormed())),
  'json string': (text) => (PLAIN.json.test(text) ? text : JSON.stringify(text).slice(1, -1)),
  xml: escapedXml,
  // A CDATA section has no escapes, so it is interrupted.
  'xml cdata': (text) => `]]>${escapedXml(text)}<![CDATA[`,
  raw: (text) => text,
};

/** Characters from which an encoded value is cached: it is in the messages to up to a thousand receivers, several times in each. */
const LONG = 1_000;

/** Encoded long values of an occurrence, by place and name. */
const longOnes = new WeakMap<Attributes, Map<string, string>>();

/** The text that stands for a placeholder. */
export function encoded(place: Place, name: string, attributes: Attributes): string {
  const text = textOf(name, attributes);
  if (text === undefined || text.length < LONG) return encodedText(place, name, attributes, text);
  const cached = longOnes.get(attributes) ?? new Map<string, string>();
  longOnes.set(attributes, cached);
  const key = `${place} ${name}`;
  const result = cached.get(key) ?? encodedText(place, name, attributes, text);
  cached.set(key, result);
  return result;
}

function encodedText(place: Place, name: string, attributes: Attributes, text: string | undefined): string {
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

/** For text and attributes in either quotes: what a parser returns is the same text, in so far as XML can represent it. */
function escapedXml(text: string): string {
  if (PLAIN.xml.test(text)) return text;
  const escaped = withoutForbidden(text).replace(
    SPECIAL,
    (character) => NAMED[character] ?? `&#${character.charCodeAt(0)};`,
  );
  // Text must not contain `]]>`, and the template may continue with a `>`.
  return escaped.endsWith(']') ? `${escaped.slice(0, -1)}&#93;` : escaped;
}
