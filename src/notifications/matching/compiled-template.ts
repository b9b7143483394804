import { NotParsable } from '../../wire/not-parsable';
import { parseXml } from '../../wire/xml-read';
import { type ReceiverFormat } from '../subscription';
import { isTemplate, parseTemplate, type Template } from '../template';
import { type Attributes } from '../topic';
import { encoded, type Place } from './encodings';
import { xmlPlaces } from './xml-places';

/** Text, and placeholders with their places. */
export type CompiledTemplate = readonly (string | { readonly name: string; readonly place: Place })[];

/** A template that cannot be used: no value makes a message of it. `reason` follows the name of the field. */
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

/** Placeholders stand behind the port. Raises `UnusableTemplate`. */
export function compiledUrl(url: string): CompiledTemplate {
  const template = parsed(url);
  const [first] = template;
  const begin = first?.is === 'text' ? first.text : '';
  const origin = ORIGIN.exec(begin)?.[0];
  if (origin === undefined) throw new UnusableTemplate('expected a URL that begins with http:// or https://');
  if (origin === begin && template.length > 1)
    throw new UnusableTemplate('expected placeholders in path, query and fragment only');
  const compiled = withPlaces(template, () => 'url');
  if (!URL.canParse(sample(compiled, 'x'))) throw new UnusableTemplate('expected a valid URL');
  return compiled;
}

/** Raises `UnusableTemplate`. */
export function compiledBody(body: string, format: ReceiverFormat): CompiledTemplate {
  const template = parsed(body);
  switch (format) {
    case 'JSON':
      return compiledJson(template);
    case 'XML':
      return compiledXml(template);
    case 'custom':
      return withPlaces(template, () => 'raw');
  }
}

/** Of each kind of value. If the text is JSON with each, it is with all: a placeholder is a value, or within a string. */
const JSON_SAMPLES = [undefined, 'x', 0] as const;

function compiledJson(template: Template): CompiledTemplate {
  let isInString = false;
  const places = template.map((part): Place => {
    if (part.is === 'text') isInString = endsInString(part.text, isInString);
    return isInString ? 'json string' : 'json value';
  });
  const compiled = withPlaces(template, (at) => places[at]);
  for (const value of JSON_SAMPLES) {
    try {
      JSON.parse(sample(compiled, value));
    } catch {
      throw new UnusableTemplate('expected JSON once placeholders are replaced, whatever the values are');
    }
  }
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
      `\${${misplaced.name}} is within a tag, comment or instruction: expected placeholders in text and values of attributes`,
    );
  const compiled = withPlaces(template, (at) => places[at]);
  try {
    // Without a value, text before and after may become `]]>`.
    for (const value of ['x', '']) parseXml(Buffer.from(sample(compiled, value)));
  } catch (error) {
    if (!(error instanceof NotParsable)) throw error;
    throw new UnusableTemplate(`expected XML once placeholders are replaced: ${error.message}`);
  }
  return compiled;
}

function parsed(text: string): Template {
  const template = parseTemplate(text);
  if (!isTemplate(template)) throw new UnusableTemplate(template.reason);
  return template;
}

function withPlaces(template: Template, placeOf: (at: number) => Place | undefined): CompiledTemplate {
  return template.map((part, at) =>
    part.is === 'text' ? part.text : { name: part.name, place: placeOf(at) ?? 'raw' },
  );
}

/** The text with the same value everywhere. */
export function sample(template: CompiledTemplate, value: string | number | undefined): string {
  const names = template.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]));
  const attributes = Object.fromEntries(value === undefined ? [] : names.map((name) => [name, value]));
  return filled(template, attributes, Infinity) ?? '';
}
