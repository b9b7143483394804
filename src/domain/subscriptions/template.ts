/** A text with placeholders, as receivers have it in URL and body (`docs/decisions.md#n10`): the parts in their order. */
export type Template = readonly TemplatePart[];

/**
 * Text that stays as it is, or the name of an attribute; `at` is the offset in the template, of a placeholder that of its `$`.
 */
type TemplatePart =
  | { readonly is: 'text'; readonly at: number; readonly text: string }
  | { readonly is: 'placeholder'; readonly at: number; readonly name: string };

/** The first `${` that begins no placeholder. */
export interface TemplateFault {
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
  const reason = `"${shown}" at character ${at + 1} is no placeholder; expected \${name}, a name of letters, digits and _`;
  return { is: 'fault', at, reason };
}

/** The placeholders of a template, each name once. */
export function namesIn(template: Template): readonly string[] {
  return [...new Set(template.flatMap((part) => (part.is === 'placeholder' ? [part.name] : [])))];
}
