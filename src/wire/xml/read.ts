import { isAscii, isUtf8 } from 'node:buffer';
import { SaxesParser, type SaxesAttributePlain, type SaxesTagPlain, type XMLDecl } from 'saxes';
import { NotParsable, Utf8Decoder } from '../bytes';

/** The content of a document, by local names. Namespaces are ignored, but prefixes must be declared. */
export interface XmlHandlers {
  readonly open: (name: string, attributes: XmlAttributes, prefix: string) => void;
  /** Text of the element opened last, entities resolved; it may come in several pieces. */
  readonly text: (piece: string) => void;
  readonly close: (name: string) => void;
  /** The document may declare any encoding: it is not what was sent. */
  readonly declaresAny?: true;
}

/** Namespace declarations left out. An object without a prototype. */
export type XmlAttributes = Readonly<Record<string, string>>;

export interface XmlReader {
  /** Consumes the next bytes; they may be cut anywhere. */
  write(chunk: Buffer): void;
  end(): void;
  /** Number of open elements; undefined within markup. */
  depth(): number | undefined;
  /** Restarts the count of lines and columns. */
  countFromHere(): void;
  /** Namespace prefixes in scope. */
  prefixes(): readonly string[];
}

/** Depth limit of elements. */
const MAX_DEPTH = 64;
/** Length limit of a tag, a declaration or an instruction, to within one chunk. */
const MAX_MARKUP = 1024 * 1024;

// XML 1.1, if it were not forced out, would let control characters in.
const OPTIONS = { xmlns: false, position: false, defaultXMLVersion: '1.0', forceXMLVersion: true } as const;

const NO_ATTRIBUTES = Object.freeze(Object.create(null)) as Record<string, string>;

/** States of saxes in which it collects text that can be passed on in pieces. */
const IN_TEXT = stateAfter('<a>b');
const IN_CDATA = stateAfter('<a><![CDATA[b');
const IN_COMMENT = stateAfter('<a><!--b');

/**
 * Reads XML 1.0 in UTF-8 as it comes in. Text of any length is passed on in pieces; depth and markup are bounded; a
 * DOCTYPE is refused, and so are entities other than XML's own. Memory use is constant.
 *
 * `write` and `end` raise `NotParsable` with line and column; after that the reader cannot be used.
 */
export function readXml(handlers: XmlHandlers): XmlReader {
  const decoder = new Utf8Decoder();
  const parser = newParser();
  const nameOf = xmlNames();
  const prefixes = new XmlPrefixes();
  /** Local names of the elements that are open. */
  const path: string[] = [];
  let attributes = NO_ATTRIBUTES;
  let tags = 0;
  let markup = 0;
  let hasBegun = false;

  const required = (name: string): XmlName => {
    const found = nameOf(name);
    if (found === undefined) parser.fail(`malformed name: ${name}.`);
    return found ?? { prefix: '', local: name };
  };
  const refuse = (problem: string | undefined): void => {
    if (problem !== undefined) parser.fail(`${problem}.`);
  };
  // Assigned by their names, here and in `newParser`, and not with `on`, which computes the names: after a few computed
  // ones V8 may make a dictionary of the parser, which is half as fast then.
  parser['attributeHandler'] = ({ name, value }: SaxesAttributePlain) => {
    if (name === 'xmlns') return;
    const { prefix, local } = required(name);
    if (prefix === 'xmlns') {
      refuse(prefixes.declare(local, value, path.length));
      return;
    }
    if (prefix !== '') prefixes.use(prefix);
    if (attributes === NO_ATTRIBUTES) attributes = Object.create(null) as Record<string, string>;
    // An attribute without a prefix is the element's own one; one with a prefix only stands in for it.
    if (prefix === '' || !(local in attributes)) attributes[local] = value;
  };
  parser['openTagHandler'] = (tag: SaxesTagPlain) => {
    if (path.length === MAX_DEPTH) parser.fail(`elements are nested deeper than ${MAX_DEPTH}.`);
    const { prefix, local: name } = required(tag.name);
    refuse(prefixes.opened(prefix));
    path.push(name);
    tags += 1;
    const given = attributes;
    attributes = NO_ATTRIBUTES;
    handlers.open(name, given, prefix);
  };
  parser['closeTagHandler'] = () => {
    tags += 1;
    const name = path.pop() ?? '';
    prefixes.closed(path.length);
    handlers.close(name);
  };
  parser['textHandler'] = text;
  parser['cdataHandler'] = text;
  parser['doctypeHandler'] = () => parser.fail('a DOCTYPE is not accepted.');
  parser['xmldeclHandler'] = ({ encoding = 'UTF-8' }: XMLDecl) => {
    if (handlers.declaresAny !== true && !/^utf-?8$/i.test(encoding))
      parser.fail(`the XML declaration has the encoding ${encoding.slice(0, 100)}: expected UTF-8, or none.`);
  };

  function text(piece: string): void {
    if (path.length > 0) handlers.text(piece);
  }

  /** Passes on text that saxes would otherwise collect until the text, section or comment ends. */
  function flush(): void {
    const state = parser['state'] as number;
    if (state !== IN_TEXT && state !== IN_CDATA && state !== IN_COMMENT) return;
    markup = 0;
    const piece = parser['text'] as string;
    parser['text'] = '';
    if (piece !== '' && state !== IN_COMMENT) text(piece);
  }

  return {
    write: (chunk) => {
      const piece = decoder.write(chunk);
      const before = tags;
      // saxes would skip it, as the decoder has skipped the first.
      if (!hasBegun && piece.startsWith('\ufeff')) parser.fail('a second byte order mark.');
      hasBegun ||= piece !== '';
      parser.write(piece);
      markup = tags === before ? markup + piece.length : piece.length;
      flush();
      if (markup > MAX_MARKUP + piece.length) parser.fail('a tag is too long.');
    },
    end: () => {
      decoder.end();
      parser.close();
    },
    depth: () => (parser['state'] === IN_TEXT ? path.length : undefined),
    countFromHere: () => {
      parser.line = 1;
      parser.column = 0;
    },
    prefixes: () => prefixes.inScope,
  };
}

/** Anything but what a text may have as it is: XML forbids it, or changes it. */
const CHANGED = /[^\t\n\u0020-\ufffd]/;
/** The same, and the backslash, which JSON escapes. */
const CHANGED_OR_BACKSLASH = /[^\t\n\u0020-[\]-\ufffd]/;
const TAG_NAME = /^[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?(?=[ \t\n]|$)/;
const ATTRIBUTE = /[ \t\n]+([A-Za-z_][\w.-]*)=(?:"([^"<\t\n]*)"|'([^'<\t\n]*)')/y;
const CDATA = { start: '<![CDATA[', end: ']]>' } as const;
const [LESS, GREATER, SLASH, BANG] = [0x3c, 0x3e, 0x2f, 0x21];
const PLAIN_DEPTH = 32;

interface PlainTag {
  /** All that is between `<` and `>`. */
  readonly inside: string;
  readonly full: string;
  readonly name: XmlName;
  readonly attributes: XmlAttributes;
  /** Whether it is found by its text when it recurs. Others may be any number, and are not to hold each other. */
  readonly isKept: boolean;
  /** What the tag after a kept one was, the last time: items have the same elements. */
  next: PlainTag | undefined;
}

/** A tag that opens, a text, or the end of the element that was opened last. */
type PlainStep = PlainTag | string | undefined;

/**
 * Reads a whole element of usual markup, where these prefixes are declared, in less than a third of the time: calls the
 * handlers as `readXml` does. Returns undefined, and has called nothing, for anything else, which may be malformed.
 * `isPlain`: JSON escapes nothing of its texts.
 */
export function plainElements(
  { open, text, close }: XmlHandlers,
  prefixes: readonly string[],
): (element: Buffer) => { readonly isPlain: boolean } | undefined {
  const nameOf = xmlNames();
  const tags = new Map<string, PlainTag>();
  const path: PlainTag[] = [];
  const steps: PlainStep[] = [];
  const [references, sectionEnds, lines, tabs, quotes] = [
    new Occurrences('&'),
    new Occurrences(CDATA.end),
    new Occurrences('\n'),
    new Occurrences('\t'),
    new Occurrences('"'),
  ];
  let isPlain = true;
  let last: PlainTag | undefined;

  const tagOf = (inside: string): PlainTag | undefined => {
    const known = tags.get(inside);
    if (known !== undefined) return known;
    const full = TAG_NAME.exec(inside)?.[0];
    const name = full === undefined ? undefined : nameOf(full);
    if (full === undefined || name === undefined) return undefined;
    if (name.prefix !== '' && !prefixes.includes(name.prefix)) return undefined;
    const attributes = attributesIn(inside, full.length);
    if (attributes === undefined) return undefined;
    const isKept = attributes === NO_ATTRIBUTES && tags.size < MAX_NAMES;
    const tag: PlainTag = { inside, full, name, attributes, isKept, next: undefined };
    if (isKept) tags.set(inside, tag);
    return tag;
  };

  /** The index after the tag that opens here; undefined unless it is a usual one. */
  const opened = (document: string, at: number): number | undefined => {
    let tag = last?.next;
    let end = at + 1 + (tag?.inside.length ?? 0);
    let isEmpty = false;
    if (
      tag === undefined ||
      !document.startsWith(tag.inside, at + 1) ||
      document.charCodeAt(end) !== GREATER
    ) {
      end = document.indexOf('>', at);
      isEmpty = document.charCodeAt(end - 1) === SLASH;
      tag = end === -1 ? undefined : tagOf(document.slice(at + 1, isEmpty ? end - 1 : end));
      if (last?.isKept === true) last.next = tag;
    }
    if (tag === undefined || path.length === PLAIN_DEPTH) return undefined;
    last = tag;
    steps.push(tag);
    if (isEmpty) steps.push(undefined);
    else path.push(tag);
    return end + 1;
  };

  /** The index after the text that begins here, and the same. */
  const textEnded = (document: string, at: number): number | undefined => {
    const end = document.indexOf('<', at);
    if (end === -1 || path.length === 0 || sectionEnds.isWithin(at, end)) return undefined;
    const piece = document.slice(at, end);
    const resolved = references.isWithin(at, end) ? withoutReferences(piece) : piece;
    if (resolved === undefined) return undefined;
    // Any other text is what a document is indented by, or beside elements, where its white
    // space may be part of a value.
    const isWhole = typeof steps.at(-1) === 'object' && document.charCodeAt(end + 1) === SLASH;
    const hasLines = isWhole ? lines.isWithin(at, end) || tabs.isWithin(at, end) : resolved.trim() !== '';
    if (hasLines || quotes.isWithin(at, end)) isPlain = false;
    steps.push(resolved);
    return end;
  };

  /** Fills `steps`; false unless it is one element, and all of it is usual. */
  const scan = (document: string): boolean => {
    let at = 0;
    while (at < document.length) {
      let end: number | undefined;
      if (document.charCodeAt(at) !== LESS) end = textEnded(document, at);
      else {
        const second = document.charCodeAt(at + 1);
        if (second === SLASH) {
          const { full = ' ' } = path.pop() ?? {};
          end = at + 2 + full.length + 1;
          if (!document.startsWith(full, at + 2) || document.charCodeAt(end - 1) !== GREATER) return false;
          steps.push(undefined);
        } else if (second === BANG) {
          const start = at + CDATA.start.length;
          const sectionEnd = document.indexOf(CDATA.end, start);
          if (sectionEnd === -1 || path.length === 0 || !document.startsWith(CDATA.start, at)) return false;
          steps.push(document.slice(start, sectionEnd));
          isPlain = false;
          end = sectionEnd + CDATA.end.length;
        } else end = opened(document, at);
        if (path.length === 0) return end === document.length;
      }
      if (end === undefined) return false;
      at = end;
    }
    return false;
  };

  return (element) => {
    const isAsciiOnly = isAscii(element);
    if (!isAsciiOnly && !isUtf8(element)) return undefined;
    const document = element.toString(isAsciiOnly ? 'latin1' : 'utf8');
    steps.length = path.length = 0;
    isPlain = !CHANGED_OR_BACKSLASH.test(document);
    if (!isPlain && CHANGED.test(document)) return undefined;
    for (const occurrences of [references, sectionEnds, lines, tabs, quotes]) occurrences.in(document);
    if (!scan(document)) return undefined;
    for (const step of steps) {
      if (typeof step === 'string') text(step);
      else if (step === undefined) close(path.pop()?.name.local ?? '');
      else {
        path.push(step);
        open(step.name.local, step.attributes, step.name.prefix);
      }
    }
    return { isPlain: isPlain && !document.includes('&quot;') };
  };
}

/** Finds a text in a document that is read from its start to its end: passes over it once. */
class Occurrences {
  private document = '';
  /** The first one that is not passed; -1 if there is none. */
  private at = -1;

  constructor(private readonly text: string) {}

  /** Begins a document. */
  in(document: string): void {
    this.document = document;
    this.at = document.indexOf(this.text);
  }

  isWithin(from: number, to: number): boolean {
    if (this.at === -1) return false;
    if (this.at < from) this.at = this.document.indexOf(this.text, from);
    return this.at !== -1 && this.at < to;
  }
}

/** Undefined unless all of them are usual, without quotation marks in them, and each is there once. */
function attributesIn(inside: string, from: number): XmlAttributes | undefined {
  if (from === inside.length) return NO_ATTRIBUTES;
  const attributes = Object.create(null) as Record<string, string>;
  ATTRIBUTE.lastIndex = from;
  for (let end = from; end < inside.length; end = ATTRIBUTE.lastIndex) {
    const [, name = '', double, single = ''] = ATTRIBUTE.exec(inside) ?? [];
    const value = single.includes('"') ? undefined : withoutReferences(double ?? single);
    if (name === '' || name === 'xmlns' || value === undefined || name in attributes) return undefined;
    attributes[name] = value;
  }
  return attributes;
}

const ENTITIES: Readonly<Partial<Record<string, string>>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
};

/** The text with its entities resolved; undefined if it has unusual ones. */
function withoutReferences(piece: string): string | undefined {
  const parts = piece.split('&');
  let resolved = parts[0] ?? '';
  for (const part of parts.slice(1)) {
    const end = part.indexOf(';');
    const character = ENTITIES[part.slice(0, Math.max(0, end))];
    if (character === undefined) return undefined;
    resolved += character + part.slice(end + 1);
  }
  return resolved;
}

type Parser = SaxesParser<typeof OPTIONS>;

function newParser(): Parser {
  const parser: Parser = new SaxesParser(OPTIONS);
  parser['errorHandler'] = ({ message }: Error) => {
    const what = message.replace(/\.$/, '');
    throw new NotParsable(`${what}, at line ${parser.line}, column ${parser.column}`);
  };
  return parser;
}

function stateAfter(xml: string): number {
  return newParser().write(xml)['state'] as number;
}

/** A name split at its colon. */
interface XmlName {
  /** Empty without a prefix. */
  readonly prefix: string;
  readonly local: string;
}

/** Limit of prefixes in scope: each element searches them. */
const MAX_PREFIXES = 100;

/** Names that are cached while reading: they recur. */
const MAX_NAMES = 1000;

/** Splits names; undefined for a malformed one (Namespaces in XML 1.0, 7). */
function xmlNames(): (name: string) => XmlName | undefined {
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
class XmlPrefixes {
  /** Declared by open elements, and by the one whose attributes are being read. */
  private readonly declared: { readonly prefix: string; readonly depth: number }[] = [];
  /** Of the attributes of the element whose tag is being read. */
  private used: string[] = [];

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
