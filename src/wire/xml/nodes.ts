import { note, type Posted } from '../api/posted';
import { type Field, type Fields, type Kind, type List, type RecordKind } from '../record/record';
import { NotParsable } from '../bytes';
import { readXml, type XmlAttributes, type XmlHandlers } from './read';

/** An element of a small document, by local names. */
export interface XmlNode {
  readonly name: string;
  readonly attributes: XmlAttributes;
  readonly children: readonly XmlNode[];
  readonly text: string;
}

/** Reads a small document as a whole; raises `NotParsable`. */
export function parseXml(bytes: Buffer, options: Pick<XmlHandlers, 'declaresAny'> = {}): XmlNode {
  const children: XmlNode[] = [];
  const reader = readXmlChildren({ ...options, maxChild: Infinity, onChild: (node) => children.push(node) });
  reader.write(bytes);
  return { ...reader.end(), children };
}

interface ChildrenOptions extends Pick<XmlHandlers, 'declaresAny'> {
  /** Characters of names, attributes and texts that an element in the root may have. */
  readonly maxChild: number;
  readonly onRoot?: (name: string) => void;
  /** Called at the end of each element in the root. */
  readonly onChild: (node: XmlNode) => void;
  /** Called at the end of one that is too large, with its name. */
  readonly onOversized?: (name: string) => void;
}

/** Characters that count for each element beside its name. */
const ELEMENT = 3;

/** Reads the elements in the root as their bytes come in. Raises `NotParsable`; `end` returns the root without them. */
export function readXmlChildren(options: ChildrenOptions): {
  readonly write: (chunk: Buffer) => void;
  readonly end: () => Omit<XmlNode, 'children'>;
} {
  const document: Growing = { name: '', attributes: {}, children: [], text: '' };
  let root: Growing | undefined;
  const path = [document];
  let size = 0;
  const isOver = (): boolean => size > options.maxChild;
  const reader = readXml({
    ...(options.declaresAny === true ? { declaresAny: true } : {}),
    open: (name, attributes) => {
      size = path.length === 2 ? 0 : size + ELEMENT + name.length;
      for (const attribute in attributes) size += attribute.length + flat(attributes[attribute]).length;
      const node: Growing = { name, attributes, children: [], text: '' };
      if (path.length === 1) {
        root = node;
        options.onRoot?.(name);
      } else if (path.length > 2 && !isOver()) path.at(-1)?.children.push(node);
      path.push(node);
    },
    text: (piece) => {
      const node = path.at(-1);
      size += piece.length;
      if (node === undefined) return;
      // Of the text around bounded elements, whether there is any: white space between them is not collected.
      if (node === root && options.maxChild < Infinity) node.text ||= piece.trim();
      else if (!isOver()) node.text += piece;
    },
    close: () => {
      const node = path.pop();
      if (node === undefined) return;
      flat(node.text);
      if (path.length !== 2) return;
      if (isOver()) options.onOversized?.(node.name);
      else options.onChild(node);
    },
  });
  return {
    write: (chunk) => reader.write(chunk),
    end: () => {
      reader.end();
      if (root === undefined) throw new NotParsable('the document has no root element');
      return root;
    },
  };
}

/**
 * The same text, in memory as one piece: one that was put together of many has 32 bytes for each until a character of
 * it is read.
 */
function flat(text = ''): string {
  text.charCodeAt(0);
  return text;
}

interface Growing extends XmlNode {
  readonly children: Growing[];
  text: string;
}

/** Stands for a text that has elements in it: it is not a text, so that it is refused. */
const MIXED = { text: 'with elements in it' };

/**
 * A posted element in the shape of JSON: by local names, in any namespace, values as text. The items of a list may be
 * in an element of the list's name or stand in its place, and have the name of an item or that of the list. What is not
 * read is noted by its path: `colour`, `@colour`, `siteIds.site`; `text()` is text between elements. So are fields that
 * are there more than once.
 */
export function postedFromXml(kind: RecordKind, node: XmlNode): Posted {
  const reader = new Reader();
  const posted = reader.record(kind, node, '', '');
  note(posted, reader);
  return posted;
}

/** What is not read of the root of a list: its attributes, except `known` ones, and text between the items. */
export function unreadOfRoot(
  { name, attributes, text }: Omit<XmlNode, 'children'>,
  known: readonly string[] = [],
): readonly string[] {
  const others = Object.keys(attributes).filter((attribute) => !known.includes(attribute));
  return [
    ...others.map((attribute) => `${name}.@${attribute}`),
    ...(text.trim() === '' ? [] : [`${name}.text()`]),
  ];
}

/** A list of a record, and the path of that. */
interface InList {
  readonly name: string;
  readonly kind: List;
  readonly bare: string;
  readonly path: string;
}

/** A kind of values that are one text. */
export type AnyScalar = Extract<Kind, { readonly is: 'scalar' }>;

class Reader {
  readonly unread = new Set<string>();
  readonly repeated = new Set<string>();

  /** `path`: of the record, with a dot at its end; `bare`: the same without list indexes. */
  record({ fields }: RecordKind, node: XmlNode, bare: string, path: string): Posted {
    const found: Record<string, unknown> = {};
    const elements = elementsOf(fields);
    for (const child of node.children) {
      const [name, { kind }] = elements.get(child.name) ?? UNKNOWN;
      if (name === undefined) {
        this.unread.add(`${bare}${child.name}`);
        // What restricts who sees the post may be within it, of all that is there (`recordReader`).
        for (const { name: inner } of child.children)
          if (elements.get(inner)?.[1].restricts !== undefined)
            this.unread.add(`${bare}${child.name}.${inner}`);
      } else if (kind.is === 'list')
        this.addItems((found[name] ??= []) as unknown[], child, { name, kind, bare, path });
      else {
        if (Object.hasOwn(found, name)) this.repeated.add(`${path}${name}`);
        found[name] = this.value(kind, child, `${bare}${name}.`, `${path}${name}.`);
      }
    }
    for (const [name, value] of Object.entries(node.attributes))
      if (Object.hasOwn(fields, name) && fields[name]?.in === 'attribute') found[name] = value;
      else this.unread.add(`${bare}@${name}`);
    const text = Object.entries(fields).find(([, field]) => field.in === 'text');
    if (text !== undefined) found[text[0]] = textOf(text[1].kind, node);
    else this.leaveText(node, bare);
    return found;
  }

  private addItems(items: unknown[], node: XmlNode, { name, kind: { of, each }, bare, path }: InList): void {
    const kind = of();
    const within = `${bare}${name}.`;
    const add = (item: XmlNode): void => {
      const value = this.value(kind, item, within, `${path}${name}[${items.length}].`);
      // Empty ones are none.
      if (value !== '') items.push(value);
    };
    const isItem = (child: XmlNode): boolean => child.name === each || child.name === name;
    if (node.name !== name || (!node.children.some(isItem) && hasContent(kind, node))) {
      add(node);
      return;
    }
    for (const child of node.children)
      if (isItem(child)) add(child);
      else this.unread.add(`${within}${child.name}`);
    this.leaveAttributes(node, within);
    this.leaveText(node, within);
  }

  private value(kind: Kind, node: XmlNode, bare: string, path: string): unknown {
    if (kind.is === 'record') return this.record(kind, node, bare, path);
    this.leaveAttributes(node, bare);
    return textOf(kind, node);
  }

  private leaveAttributes({ attributes }: XmlNode, bare: string): void {
    for (const name in attributes) this.unread.add(`${bare}@${name}`);
  }

  private leaveText({ text }: XmlNode, bare: string): void {
    if (text.trim() !== '') this.unread.add(`${bare}text()`);
  }
}

const UNKNOWN: readonly [undefined, Pick<Field, 'kind'>] = [
  undefined,
  { kind: { is: 'record', fields: {} } },
];

const compiled = new WeakMap<Fields, ReadonlyMap<string, readonly [name: string, field: Field]>>();

function elementsOf(fields: Fields): ReadonlyMap<string, readonly [name: string, field: Field]> {
  let found = compiled.get(fields);
  if (found === undefined) {
    const named = Object.entries(fields).filter(
      ([, { in: place }]) => place === undefined || place === 'content',
    );
    const items = named.flatMap(([name, field]) =>
      field.kind.is === 'list' ? [[field.kind.each, [name, field]] as const] : [],
    );
    found = new Map([...items, ...named.map(([name, field]) => [name, [name, field]] as const)]);
    compiled.set(fields, found);
  }
  return found;
}

/** Whether an element without items has what an item has. */
function hasContent(kind: Kind, { children, attributes, text }: XmlNode): boolean {
  if (kind.is !== 'record') return children.length === 0 && text.trim() !== '';
  const names = [...children.map(({ name }) => name), ...Object.keys(attributes)];
  return names.some((name) => Object.hasOwn(kind.fields, name));
}

function textOf(kind: Kind, { children, text }: XmlNode): unknown {
  if (children.length > 0) return MIXED;
  return kind.is === 'scalar' ? valueInText(kind, text) : text.trim();
}

/** The value of a field that is the text of an element: documents are indented (`docs/decisions.md#x3`). */
export function valueInText({ posted: { isText, isId } }: AnyScalar, text: string): string {
  if (isText !== true) return text.trim();
  return isId === true ? withoutXmlSpace(text) : text;
}

/** Without the white space of XML at its ends; other spaces are characters like any. */
function withoutXmlSpace(text: string): string {
  const isSpace = (at: number): boolean => ' \t\r\n'.includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && isSpace(start)) start += 1;
  while (start < end && isSpace(end - 1)) end -= 1;
  return text.slice(start, end);
}
