import { Builder } from 'xml2js';
import { withoutForbidden } from './characters';

/**
 * An element for the writer: `$` its attributes, `_` its text, other keys its children in order; absent ones
 * are left out.
 */
export interface XmlElement {
  readonly [name: string]: XmlElement | readonly XmlContent[] | string | number | boolean | undefined;
}

/** Content that may be repeated under one name. */
export type XmlContent = XmlElement | string | number | boolean;

const DECLARATION = { version: '1.0', encoding: 'UTF-8' };

const BUILDERS = {
  compact: new Builder({ xmldec: DECLARATION, renderOpts: { pretty: false } }),
  pretty: new Builder({ xmldec: DECLARATION, renderOpts: { pretty: true, indent: '  ', newline: '\n' } }),
};

/** An XML document of one root: `{ result: {…} }`. Characters that XML cannot carry become U+FFFD. */
export function writeXml(document: XmlElement, options: { readonly pretty?: boolean } = {}): string {
  return BUILDERS[options.pretty === true ? 'pretty' : 'compact'].buildObject(writable(document));
}

/**
 * As the builder takes it: it would write absent children as empty elements and stop at forbidden characters.
 */
function writable(content: XmlContent): object | string {
  if (typeof content !== 'object') return withoutForbidden(String(content));
  const element: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(content)) {
    if (child === undefined) continue;
    element[name] = isList(child) ? child.map(writable) : writable(child);
  }
  return element;
}

export function isList(child: XmlContent | readonly XmlContent[]): child is readonly XmlContent[] {
  return Array.isArray(child);
}
