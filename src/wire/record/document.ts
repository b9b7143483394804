import { type OperationText, type Shape, type XmlDocument } from '../api/description';
import { isList, writeXml, type XmlContent, type XmlElement } from '../xml/write';
import { type XsdParts, type XmlSchema, type SimpleType, type XsdType } from '../xml/xsd';
import {
  type AnswerOf,
  type Direction,
  type Field,
  type Fields,
  isAlways,
  type Kind,
  type List,
  type NamedType,
  type RecordKind,
} from './record';
import { type Posted } from '../api/posted';

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

/**
 * A body or an answer as JSON, made of the examples of its fields as of now. A body has the fields with an example; an
 * answer has all that are always there, and of the others those that have an example or a single value. A record within
 * itself is left out.
 */
export function exampleOf(kind: Kind, now: Date, direction: Direction = 'posted', name = ''): unknown {
  return new Examples(now, direction).of(kind, name);
}

class Examples {
  private readonly within: Kind[] = [];

  constructor(
    private readonly now: Date,
    private readonly direction: Direction,
  ) {}

  /** `name`: of the field. */
  of(kind: Kind, name: string): unknown {
    if (kind.is === 'scalar') return this.direction === 'posted' ? undefined : this.scalar(kind, name);
    if (kind.is === 'list') {
      const item = this.of(kind.of(), name);
      if (item !== undefined) return [item];
      return this.direction === 'posted' ? undefined : [];
    }
    if (this.within.includes(kind)) return undefined;
    this.within.push(kind);
    const examples = Object.entries(kind.fields).map(([field, one]) => [field, this.field(field, one)]);
    this.within.pop();
    const given = examples.filter(([, example]) => example !== undefined);
    return given.length === 0 ? undefined : Object.fromEntries(given);
  }

  private field(name: string, { kind, example, optional }: Field): unknown {
    if (example !== undefined) return this.asOfNow(example);
    const isLeftOut = this.direction === 'answered' && optional === true && kind.is !== 'scalar';
    return isLeftOut ? undefined : this.of(kind, name);
  }

  private scalar({ answered: { json, example } }: Extract<Kind, { is: 'scalar' }>, name: string): unknown {
    const { type, format, enum: words } = json;
    if (Array.isArray(words)) return words[0] as unknown;
    if (format === 'date-time') return this.now.toISOString();
    if (format === 'date') return this.now.toISOString().slice(0, 10);
    if (example !== undefined) return this.asOfNow(example);
    const sample = this.asOfNow(SAMPLES[name]);
    if ([type].flat().includes('string')) return typeof sample === 'number' ? String(sample) : sample;
    return typeof sample === 'number' ? sample : BY_TYPE[String(type)];
  }

  private asOfNow(example: unknown): unknown {
    return typeof example === 'function' ? (example as (now: Date) => unknown)(this.now) : example;
  }
}

const BY_TYPE: Readonly<Record<string, unknown>> = { boolean: true, integer: 1, number: 12.5, object: {} };

const toIso = (now: Date): string => now.toISOString();
const HEX = '0123456789abcdef';

/**
 * Values of answered fields, by their names, of which each means one thing; another meaning has an example of its own.
 */
const SAMPLES: Readonly<Record<string, unknown>> = {
  ...{ advertiserId: 1, affiliateSiteId: 1101, claimId: 57, eventId: 1011, feedId: 1001, organisationId: 1 },
  ...{ programId: 101, publisherId: 11, siteId: 1101, versionNo: 0, width: 500, height: 300, price: 12 },
  ...{ voucherId: 17, changeId: 1, voucherTypeId: 1, changeName: 'New' },
  ...{ productId: '1001-lamp-1', changeTypeId: 1, minFallPercent: 10 },
  ...{ messageTypeId: 4, statusId: 2, eventTypeId: 5, status: 200, lastStatus: 200, deniedReasonId: 21 },
  ...{ at: toIso, time: toIso, end: toIso, ended: toIso, startedAt: toIso, expires: toIso, until: toIso },
  ...{ orderValue: 129.9, publisherCommission: 12.99, tdCommission: 3.9, orderNumber: 'A-1001' },
  ...{ currencyId: 'EUR', currencyISOCode: 'EUR', currency: 'EUR', programCountry: 'DE' },
  ...{ languageId: 'de', languageISOCode: 'de', language: 'de', position: '0000000000000001024' },
  ...{
    siteName: 'Preisfuchs',
    programName: 'Lindner Deutschland',
    eventName: 'Sale',
    organisation: 'Preisfuchs',
  },
  ...{ stateName: 'Pending', statusName: 'Awaiting approval', statusState: 'PENDING_ADVERTISER' },
  ...{ subscriptionId: `${HEX}${HEX}`, receiverId: HEX, messageId: `msg_${HEX}${HEX}`, sequenceNumber: '1' },
  ...{ transactionId: `${HEX}${HEX}`, legacyTransactionId: 'A-1001_1011_1', epi: 'newsletter-7' },
  ...{ httpMethod: 'POST', receiverUrl: 'https://receiver.example/messages' },
  ...{ secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3', topic: 'transactions' },
  ...{
    sourceProductId: 'lamp-1',
    sourceId: 'lamps-10',
    expectedCommission: '12.99',
    groupingId: '4006381333931',
  },
  ...{ categoryId: '221', tdCategoryId: '221', categoryName: 'Lamps', tdCategoryName: 'Table lamps' },
  ...{ lastUpdatedTime: '2026-04-17T15:57:00.470', lastModifiedTime: '2026-04-17T15:57:00.470+0000' },
  ...{ url: 'https://shop.example/export.xml', every: '6h', loadId: HEX, importId: HEX, what: 'replace' },
  ...{
    defaultTrackUri: 'https://clk.example/click?p=101&a=1101',
    logoPath: 'https://lindner.example/logo.png',
  },
  ...{
    publisherInformation: 'Not for newsletters',
    name: 'Lindner Deutschland',
    id: '221',
    change: 'revised',
  },
  ...{ code: 'PF_240', message: 'price is missing: expected an amount such as 12 or 12.50' },
  ...{ condition: 'program active', found: 'program 101 is active', path: 'Home > Lamps > Table lamps' },
  ...{ action: 'feeds restore', by: 'anna', value: '1001', system: 'PRODUCTS', fingerprint: '1f3a9c0e5b72' },
  ...{ type: 'ProductListed', stream: 'feed-1001', problem: 'an unknown type', error: 'an unknown field' },
  ...{ state: 'ready', phase: 'project', version: '0.1.0', node: 'v20.19.0', work: 'projector' },
  ...{ eventLog: 'SQLite', readStore: 'SQLite', readModel: 'vouchers' },
};

/** The same as XML. */
export function xmlExampleOf(
  kind: Kind,
  xml: XmlDocument,
  now: Date,
  direction: Direction = 'posted',
): string {
  const content = xml.kind ?? kind;
  const example = exampleOf(content, now, direction);
  return writeXml(rooted(xml, postedXmlWriter(content)(example)), { pretty: true });
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

type WriteXml = (value: unknown) => XmlContent;
type XmlDraft = Record<string, XmlElement[string]>;

/** Compiles a table into a function that makes the XML of an answer. */
export function xmlWriter<K extends RecordKind>(kind: K): (answer: AnswerOf<K>) => XmlElement;
export function xmlWriter<K extends Kind>(kind: K): (answer: AnswerOf<K>) => XmlContent;
export function xmlWriter(kind: Kind): WriteXml {
  return writerOf(kind, ({ answered }) => answered.write as WriteXml, '');
}

/** The same of a post, of its values as JSON has them. */
function postedXmlWriter(kind: Kind): WriteXml {
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
