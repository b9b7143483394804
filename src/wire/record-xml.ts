import { type Posted } from './posted';
import { type AnswerOf, type Field, type Fields, type Kind, type List, type RecordKind } from './record';
import { type XmlNode } from './xml-read';
import { type XmlContent, type XmlElement } from './xml-write';

/** Stands in the place of a text that has elements in it: no text, so that it is refused. */
const MIXED = { text: 'with elements in it' };

/**
 * A posted element in the shape of JSON: by local names, in any namespace, values as text. Of elements that are there
 * twice the last one counts. Elements and attributes that the table does not name are members without a value, by their
 * names: `colour`, `@colour`.
 */
export function postedFromXml({ fields }: RecordKind, node: XmlNode): Posted {
  const found: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = valueIn(node, name, field);
    if (value !== undefined) found[name] = value;
  }
  // An element may be called `__proto__`.
  for (const name of unknownIn(node, fields))
    Object.defineProperty(found, name, { value: '', enumerable: true, configurable: true });
  return found;
}

function unknownIn({ attributes, children }: XmlNode, fields: Fields): readonly string[] {
  const attributeNames = Object.keys(attributes).filter((name) => fields[name]?.in !== 'attribute');
  const elements = Object.entries(fields).flatMap(([name, { kind, in: place }]) =>
    place === undefined ? name : place === 'content' && kind.is === 'list' ? kind.each : [],
  );
  const others = children.map(({ name }) => name).filter((name) => !elements.includes(name));
  return [
    ...attributeNames.map((name) => `@${name}`),
    ...others.filter((name) => !Object.hasOwn(fields, name)),
  ];
}

function valueIn(node: XmlNode, name: string, { kind, in: place }: Field): unknown {
  if (place === 'attribute') return node.attributes[name];
  if (place !== undefined) return valueOf(node, kind);
  const element = node.children.findLast((child) => child.name === name);
  return element === undefined ? undefined : valueOf(element, kind);
}

function valueOf(node: XmlNode, kind: Kind): unknown {
  if (kind.is === 'record') return postedFromXml(kind, node);
  if (kind.is === 'list') return itemsIn(node, kind);
  if (node.children.length > 0) return MIXED;
  return kind.posted.isText === true ? node.text : node.text.trim();
}

/** Empty ones are none. */
function itemsIn(node: XmlNode, { of, each }: List): readonly unknown[] {
  const items = node.children.filter(({ name }) => name === each);
  return items.map((item) => valueOf(item, of())).filter((value) => value !== '');
}

type Write = (value: unknown) => XmlContent;
type Draft = Record<string, XmlElement[string]>;

/** Compiles a table into a function that makes the XML of an answer. */
export function xmlWriter<K extends RecordKind>(kind: K): (answer: AnswerOf<K>) => XmlElement;
export function xmlWriter<K extends Kind>(kind: K): (answer: AnswerOf<K>) => XmlContent;
export function xmlWriter(kind: Kind): Write {
  return writerOf(kind, ({ answered }) => answered.write as Write, '');
}

/** The same of a post, of its values as JSON has them. */
export function postedXmlWriter(kind: Kind): Write {
  return writerOf(kind, () => String, '');
}

type OfScalar = (scalar: Extract<Kind, { readonly is: 'scalar' }>) => Write;

/** `prefix`, with its colon, is that of all elements within. */
function writerOf(kind: Kind, ofScalar: OfScalar, prefix: string): Write {
  switch (kind.is) {
    case 'scalar':
      return ofScalar(kind);
    case 'list':
      return listWriter(kind, ofScalar, prefix);
    case 'record': {
      const fields = Object.entries(kind.fields);
      const hasAttributes = fields.some(([, field]) => field.in === 'attribute');
      const steps = fields.map(([name, field]) => ({ name, add: adderOf(name, field, ofScalar, prefix) }));
      return (values) => {
        const attributes: Draft = {};
        const element: Draft = hasAttributes ? { $: attributes } : {};
        for (const { name, add } of steps) {
          const value = (values as Posted)[name];
          if (value !== undefined) add(value, element, attributes);
        }
        return element;
      };
    }
  }
}

type Add = (value: unknown, element: Draft, attributes: Draft) => void;

/** Adds the value of a field where it stands. */
function adderOf(name: string, field: Field, ofScalar: OfScalar, inherited: string): Add {
  const prefix = field.prefix === undefined ? inherited : `${field.prefix}:`;
  const write = writerOf(field.kind, ofScalar, prefix);
  const element = prefix + name;
  switch (field.in) {
    case 'attribute':
      return (value, _, attributes) => (attributes[name] = write(value));
    case 'text':
      return (value, into) => (into['_'] = write(value));
    case 'content':
      return (value, into) => Object.assign(into, write(value));
    default:
      return (value, into) => (into[element] = write(value));
  }
}

function listWriter({ of, each }: List, ofScalar: OfScalar, prefix: string): Write {
  const element = prefix + each;
  // Compiled late: a record may contain itself.
  let write: Write | undefined;
  return (items) => {
    const writeItem = (write ??= writerOf(of(), ofScalar, prefix));
    return { [element]: (items as readonly unknown[]).map(writeItem) };
  };
}
