import { NotParsable } from '../../wire/not-parsable';
import { parseJson } from '../../wire/json/read';
import { parsedUrl } from '../../wire/parsed-url';
import { parseXml } from '../../wire/xml/read';
import { type ReceiverFormat } from './subscription';
import { type Template } from './template';
import { type Attributes } from './topic';
import { encoded, type Place } from './encodings';
import { xmlPlaces } from './xml-places';

/** Text, and placeholders with their places. */
export type CompiledTemplate = readonly (string | { readonly name: string; readonly place: Place })[];

/** No message can be made of a template. The message follows the name of the field. */
export class UnusableTemplate extends Error {
  override readonly name = 'UnusableTemplate';
}

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
  const places = template.map((part): Place => {
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
  // What a declaration may say is checked when a subscription is posted.
  for (const value of ['x', '']) parseXml(Buffer.from(sample(compiled, value)), { declaresAny: true });
  return compiled;
}

/** Equal placeholders are one object: a body may have ten thousand, and an organisation a thousand bodies. */
function withPlaces(template: Template, placeOf: (at: number) => Place | undefined): CompiledTemplate {
  const placeholders = new Map<string, { readonly name: string; readonly place: Place }>();
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
