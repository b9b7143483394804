import { type ReceiverFormat } from '../notifications/subscription';
import { type Template } from '../notifications/template';
import { NotParsable } from '../wire/not-parsable';
import { parseJson } from '../wire/json-read';
import { parseXml } from '../wire/xml-read';

/**
 * Why a body would not be in its format, whatever values its placeholders have (`docs/decisions.md#n10`); undefined if it would. It
 * is read with values that are legal only where a placeholder may be.
 */
export function bodyProblem(template: Template, format: ReceiverFormat): string | undefined {
  if (format === 'custom') return undefined;
  try {
    if (format === 'JSON') parseJson(Buffer.from(filledJson(template)));
    else for (const value of XML_SAMPLES) parseXml(Buffer.from(filledWith(template, value)));
    return undefined;
  } catch (error) {
    if (!(error instanceof NotParsable)) throw error;
    return error.message;
  }
}

/** Within a string a letter that ends no escape sequence, elsewhere `null`, which is no name of a member. */
function filledJson(template: Template): string {
  let text = '';
  let isInString = false;
  for (const part of template) {
    if (part.is === 'placeholder') text += isInString ? 'x' : 'null';
    else {
      text += part.text;
      isInString = stringOpen(part.text, isInString);
    }
  }
  return text;
}

/** Whether a string is open after a text. An escape sequence that a placeholder cuts is found by parsing. */
function stringOpen(text: string, before: boolean): boolean {
  let isOpen = before;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isOpen = !isOpen;
    else if (text[at] === '\\' && isOpen) at += 1;
  }
  return isOpen;
}

/** The first is legal in text and in values of attributes, but neither in names nor in comments; then no value at all. */
const XML_SAMPLES = ['1--&amp;', ''] as const;

function filledWith(template: Template, value: string): string {
  return template.map((part) => (part.is === 'text' ? part.text : value)).join('');
}
