import { type Posted } from '../api/posted';
import { type AnswerOf, type Field, type Kind, type List, type RecordKind } from './record';
import { type XmlContent, type XmlElement } from '../xml/write';

type WriteXml = (value: unknown) => XmlContent;
type XmlDraft = Record<string, XmlElement[string]>;

/** Compiles a table into a function that makes the XML of an answer. */
export function xmlWriter<K extends RecordKind>(kind: K): (answer: AnswerOf<K>) => XmlElement;
export function xmlWriter<K extends Kind>(kind: K): (answer: AnswerOf<K>) => XmlContent;
export function xmlWriter(kind: Kind): WriteXml {
  return writerOf(kind, ({ answered }) => answered.write as WriteXml, '');
}

/** The same of a post, of its values as JSON has them. */
export function postedXmlWriter(kind: Kind): WriteXml {
  return writerOf(kind, () => String, '');
}

type OfScalar = (scalar: Extract<Kind, { readonly is: 'scalar' }>) => WriteXml;

/** `prefix`, with its colon, is that of all elements within. */
function writerOf(kind: Kind, ofScalar: OfScalar, prefix: string): WriteXml {
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
        const attributes: XmlDraft = {};
        const element: XmlDraft = hasAttributes ? { $: attributes } : {};
        for (const { name, add } of steps) {
          const value = (values as Posted)[name];
          if (value !== undefined) add(value, element, attributes);
        }
        return element;
      };
    }
  }
}

type Add = (value: unknown, element: XmlDraft, attributes: XmlDraft) => void;

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

function listWriter({ of, each }: List, ofScalar: OfScalar, prefix: string): WriteXml {
  const element = prefix + each;
  // Compiled late: a record may contain itself.
  let write: WriteXml | undefined;
  return (items) => {
    const writeItem = (write ??= writerOf(of(), ofScalar, prefix));
    return { [element]: (items as readonly unknown[]).map(writeItem) };
  };
}
