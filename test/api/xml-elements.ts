import { parseStringPromise } from 'xml2js';

/** Namespaces of answers (Document 1, XML response shape). */
export const OUTPUT = 'urn:com:affilog:pf:model:xml:output';
export const COMMON = 'urn:com:affilog:pf:model:xml:common';

/** An element as an independent parser reads it: namespace and name, attributes, text, children. */
interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly children: readonly Element[];
}

interface Parsed {
  readonly _?: string;
  readonly $?: Readonly<Record<string, { readonly value: string }>>;
  readonly $ns: { readonly uri: string; readonly local: string };
  readonly $$?: readonly Parsed[];
}

/** The root element of a document. */
export async function parse(xml: string): Promise<Element> {
  const options = { xmlns: true, explicitRoot: false, explicitChildren: true, preserveChildrenOrder: true };
  return toElement((await parseStringPromise(xml, options)) as Parsed);
}

const PREFIXES: Readonly<Record<string, string>> = { [OUTPUT]: '', [COMMON]: 'common ' };

function toElement({ $ns, $ = {}, _ = '', $$ = [] }: Parsed): Element {
  return {
    name: `${PREFIXES[$ns.uri] ?? $ns.uri}${$ns.local}`,
    attributes: Object.fromEntries(
      Object.entries($)
        .filter(([name]) => !name.startsWith('xmlns'))
        .map(([name, { value }]) => [name, value]),
    ),
    text: _,
    children: $$.map(toElement),
  };
}

/** An element as it is expected: its name, attributes, then text and children. */
export const el = (name: string, attributes: object = {}, ...content: (string | Element)[]): Element => ({
  name,
  attributes: attributes as Element['attributes'],
  text: content.filter((part) => typeof part === 'string').join(''),
  children: content.filter((part) => typeof part !== 'string'),
});
