/** A name split at its colon. */
export interface XmlName {
  /** Empty without a prefix. */
  readonly prefix: string;
  readonly local: string;
}

/** Limit of prefixes in scope: each element searches them. */
const MAX_PREFIXES = 100;

/** Names that are cached while reading: they recur. */
const MAX_NAMES = 1000;

/** Splits names; undefined for a malformed one (Namespaces in XML 1.0, 7). */
export function xmlNames(): (name: string) => XmlName | undefined {
  const known = new Map<string, XmlName | undefined>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const parts = name.split(':');
    const [prefix = '', local = prefix] = parts;
    const isName = parts.length <= 2 && parts.every((part) => part !== '');
    const cut = isName ? { prefix: parts.length === 2 ? prefix : '', local } : undefined;
    if (known.size < MAX_NAMES) known.set(name, cut);
    return cut;
  };
}

/** The prefixes in scope while a document is read, element by element. Problems are returned as text. */
export class XmlPrefixes {
  /** Declared by open elements, and by the one whose attributes are being read. */
  private readonly declared: { readonly prefix: string; readonly depth: number }[] = [];
  /** Of the attributes of the element whose tag is being read. */
  private used: string[] = [];

  /** Those in scope, each once. */
  get inScope(): readonly string[] {
    return [...new Set(this.declared.map(({ prefix }) => prefix))];
  }

  /** An attribute `xmlns:prefix` of the element that opens at this depth. */
  declare(prefix: string, namespace: string, depth: number): string | undefined {
    this.declared.push({ prefix, depth });
    if (this.declared.length > MAX_PREFIXES) return `more than ${MAX_PREFIXES} namespace prefixes in scope`;
    return namespace === '' ? `the namespace of the prefix ${prefix} is empty` : undefined;
  }

  /** An attribute has this prefix; the declaration may follow it. */
  use(prefix: string): void {
    this.used.push(prefix);
  }

  /** The element opens that these attributes belong to, with this prefix. */
  opened(prefix: string): string | undefined {
    if (prefix === '' && this.used.length === 0) return undefined;
    const unknown = [...this.used, prefix].find((one) => !this.isInScope(one));
    this.used = [];
    return unknown === undefined ? undefined : `the namespace prefix ${unknown} is not declared`;
  }

  /** The element that was opened at this depth closes. */
  closed(depth: number): void {
    while (this.declared.length > 0 && this.declared.at(-1)?.depth === depth) this.declared.pop();
  }

  private isInScope(prefix: string): boolean {
    if (prefix === '' || prefix === 'xml') return true;
    return this.declared.some((one) => one.prefix === prefix);
  }
}
