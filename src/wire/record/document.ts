import { type OperationText, type Shape, type XmlDocument } from '../api/description';
import { isList, writeXml, type XmlContent, type XmlElement } from '../xml/write';
import { type XsdParts, type XmlSchema, type SimpleType, type XsdType } from '../xml/xsd';
import {
  type AnswerOf,
  type Direction,
  type Fields,
  isAlways,
  type Kind,
  type List,
  type NamedType,
  type RecordKind,
} from './record';
import { postedXmlWriter, xmlWriter } from './xml';

/** Compiles the table of an answer into a function that makes its XML document. */
export function documentWriter<K extends Kind>({
  kind,
  xml = { file: '' },
}: Pick<Shape<K>, 'kind' | 'xml'>): (answer: AnswerOf<K>) => XmlElement {
  const write = xmlWriter(kind);
  return (answer) => rooted(xml, write(answer));
}

function rooted({ root, attributes = {} }: XmlDocument, content: XmlContent): XmlElement {
  const element = typeof content === 'object' ? content : {};
  if (root === undefined) return element;
  const own = typeof element.$ === 'object' && !isList(element.$) ? element.$ : {};
  return { [root]: { ...element, $: { ...attributes, ...own } } };
}

/** The XML schemas of what some operations take and answer, by the names of their files. */
export function schemaFiles(
  operations: Readonly<Record<string, OperationText>>,
): Readonly<Record<string, XmlSchema>> {
  const files: Record<string, XmlSchema> = {};
  const add = (shape: Shape | undefined, direction: Direction): void => {
    if (shape?.xml === undefined) return;
    const { kind, xml } = shape;
    files[xml.file] = joined(files[xml.file], schemaOf(xml.kind ?? kind, xml, direction));
  };
  for (const { body, answer } of Object.values(operations)) {
    add(body, 'posted');
    add(answer, 'answered');
  }
  return files;
}

/** Documents with different roots may have one file. */
function joined(first: XmlSchema | undefined, other: XmlSchema): XmlSchema {
  return {
    elements: { ...first?.elements, ...other.elements },
    types: { ...first?.types, ...other.types },
    simpleTypes: { ...first?.simpleTypes, ...other.simpleTypes },
  };
}

/** The XML schema of the elements of some fields, which schemas of other namespaces import. */
export function elementSchema(fields: Fields, direction: Direction): XmlSchema {
  const types = new XsdTypes(direction);
  const elements = Object.entries(fields).filter(([, field]) => !('in' in field));
  return {
    elements: Object.fromEntries(elements.map(([name, { kind }]) => [name, types.typeOf(kind)])),
    ...types.types,
  };
}

export function schemaOf(
  kind: Kind,
  { root, attributes = {} }: XmlDocument,
  direction: Direction,
): XmlSchema {
  const types = new XsdTypes(direction);
  const type = types.contentOf(kind);
  const names = Object.keys(attributes).filter((name) => !name.startsWith('xmlns'));
  const fixed = Object.fromEntries(names.map((name) => [name, 'xs:string']));
  const elements: XsdParts =
    root === undefined
      ? rootsIn(type.sequence ?? {})
      : { [root]: { ...type, attributes: { ...fixed, ...type.attributes } } };
  return { ...types.types, elements };
}

function rootsIn(parts: XsdParts): XsdParts {
  return Object.fromEntries(Object.entries(parts).map(([part, type]) => [part.replace(/[?*]$/, ''), type]));
}

/** A body as JSON, made of the examples of its fields as of now. A record within itself is left out. */
export function exampleOf(kind: Kind, now: Date, within: readonly Kind[] = []): unknown {
  if (kind.is === 'list') {
    const item = exampleOf(kind.of(), now, within);
    return item === undefined ? undefined : [item];
  }
  if (kind.is === 'scalar' || within.includes(kind)) return undefined;
  const examples = Object.entries(kind.fields).map(([name, field]) => [
    name,
    isFunction(field.example)
      ? field.example(now)
      : (field.example ?? exampleOf(field.kind, now, [...within, kind])),
  ]);
  const given = examples.filter(([, example]) => example !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function isFunction(example: unknown): example is (now: Date) => unknown {
  return typeof example === 'function';
}

/** The same as XML. */
export function xmlExampleOf(kind: Kind, xml: XmlDocument, now: Date): string {
  const content = xml.kind ?? kind;
  return writeXml(rooted(xml, postedXmlWriter(content)(exampleOf(content, now))), { pretty: true });
}

/** The types of kinds in an XML schema, and what these need of simple types and of types that have names. */
class XsdTypes {
  private readonly simple: Record<string, SimpleType> = {};
  private readonly named: Record<string, XsdType> = {};

  constructor(private readonly direction: Direction) {}

  get types(): Pick<XmlSchema, 'simpleTypes' | 'types'> {
    return { simpleTypes: this.simple, types: this.named };
  }

  typeOf(kind: Kind): string | XsdType {
    switch (kind.is) {
      case 'scalar':
        return this.simpleType(kind[this.direction].xsd);
      case 'list':
        return this.contentOf(kind);
      case 'record':
        return kind.name === undefined ? this.contentOf(kind) : this.refer(kind.name, kind);
    }
  }

  /** What the element of a record or list holds. */
  contentOf(kind: Kind): XsdType {
    if (kind.is === 'record') return this.recordType(kind);
    return kind.is === 'list' ? { sequence: this.items(kind) } : {};
  }

  private items({ of, each }: List): XsdParts {
    return { [`${each}*`]: this.typeOf(of()) };
  }

  private simpleType(type: string | NamedType): string {
    if (typeof type === 'string') return type;
    const { name, ...definition } = type;
    this.simple[name] = definition;
    return name;
  }

  private refer(name: string, kind: RecordKind): string {
    if (this.named[name] === undefined) {
      // It may contain itself.
      this.named[name] = {};
      this.named[name] = this.recordType(kind);
    }
    return name;
  }

  private recordType({ fields }: RecordKind): XsdType {
    const attributes: Record<string, XsdParts[string]> = {};
    const elements: Record<string, XsdParts[string]> = {};
    let text: string | undefined;
    for (const [name, field] of Object.entries(fields)) {
      const { kind, in: place, prefix } = field;
      const occurs = isAlways(field, this.direction) ? '' : '?';
      if (place === 'content') {
        Object.assign(elements, this.elementsOf(this.contentOf(kind)));
        // A post may have them in an element too (`docs/decisions.md#a18`).
        if (this.direction === 'posted') elements[`${name}?`] = this.typeOf(kind);
      } else if (place === 'text' && kind.is === 'scalar') text = this.simpleType(kind[this.direction].xsd);
      else if (place === 'attribute') attributes[`${name}${occurs}`] = this.typeOf(kind);
      else if (prefix === undefined) elements[`${name}${occurs}`] = this.typeOf(kind);
      else elements[`${prefix}:${name}${occurs}`] = {};
    }
    return { ...(text === undefined ? this.children(elements) : { text }), attributes };
  }

  private elementsOf({ sequence, all, any }: XsdType): XsdParts {
    return sequence ?? all ?? any ?? {};
  }

  /** Elements are posted in any order; where one may be there many times, all may. */
  private children(elements: XsdParts): XsdType {
    if (this.direction === 'answered') return { sequence: elements };
    const parts = Object.entries(elements);
    if (parts.every(([part]) => !part.endsWith('*'))) return { all: elements };
    return { any: Object.fromEntries(parts.map(([part, type]) => [part.replace(/[?*]$/, ''), type])) };
  }
}
