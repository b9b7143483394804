import { type XmlElement } from './write';
import { defined } from '../../kernel/values';

/**
 * Elements or attributes and their types. A name that ends in `?` is optional, one that ends in `*` may occur any
 * number of times. A name with a prefix is that of an element of another schema.
 */
export type XsdParts = Readonly<Record<string, string | XsdType>>;

/**
 * The content of an element: text of a simple type, or elements in this order (`sequence`), each once in any order
 * (`all`), or any number of any of them (`any`).
 */
export interface XsdType {
  readonly text?: string;
  readonly sequence?: XsdParts;
  readonly all?: XsdParts;
  readonly any?: XsdParts;
  readonly attributes?: XsdParts;
}

/** Texts that match a pattern, or any of several types. */
export type SimpleType =
  { readonly base: string; readonly pattern: string } | { readonly union: readonly string[] };

/** An XML Schema, version 1.0. */
export interface XmlSchema {
  /** Absent: its elements have no namespace. */
  readonly namespace?: string;
  /** Imported namespaces by prefix, and the files of their schemas. */
  readonly imports?: Readonly<Record<string, { readonly namespace: string; readonly file: string }>>;
  readonly simpleTypes?: Readonly<Record<string, SimpleType>>;
  /** Types that are referred to by their names. */
  readonly types?: Readonly<Record<string, XsdType>>;
  readonly elements: XsdParts;
}

/** XML schemas by the names of their files; the vendor is part of namespaces. */
export type SchemaFiles = (vendor: string) => Readonly<Record<string, XmlSchema>>;

export function toXsd({
  namespace,
  imports = {},
  simpleTypes = {},
  types = {},
  elements,
}: XmlSchema): XmlElement {
  const prefixes = Object.entries(imports).map(([prefix, { namespace: its }]) => [`xmlns:${prefix}`, its]);
  return {
    'xs:schema': {
      $: {
        'xmlns:xs': 'http://www.w3.org/2001/XMLSchema',
        ...(namespace === undefined ? {} : { xmlns: namespace, targetNamespace: namespace }),
        ...(Object.fromEntries(prefixes) as Record<string, string>),
        elementFormDefault: 'qualified',
      },
      'xs:import': Object.values(imports).map(({ namespace: its, file }) => ({
        $: { namespace: its, schemaLocation: file },
      })),
      'xs:simpleType': Object.entries(simpleTypes).map(([name, type]) => ({ $: { name }, ...simple(type) })),
      'xs:complexType': Object.entries(types).map(([name, type]) => ({ $: { name }, ...complex(type) })),
      'xs:element': Object.entries(elements).map(([name, type]) => typed({ name }, type)),
    },
  };
}

function simple(type: SimpleType): XmlElement {
  if ('union' in type) return { 'xs:union': { $: { memberTypes: type.union.join(' ') } } };
  const { base, pattern } = type;
  return { 'xs:restriction': { $: { base }, 'xs:pattern': { $: { value: pattern } } } };
}

function complex({ text, sequence, all, any, attributes = {} }: XsdType): XmlElement {
  const its = Object.entries(attributes).map(([part, type]) => {
    const { name, isOptional } = read(part);
    return typed({ name, ...(isOptional ? {} : { use: 'required' }) }, type);
  });
  if (text !== undefined) {
    return { 'xs:simpleContent': { 'xs:extension': { $: { base: text }, 'xs:attribute': its } } };
  }
  return {
    ...defined({ 'xs:sequence': sequence && children(sequence), 'xs:all': all && children(all) }),
    ...(any === undefined
      ? {}
      : { 'xs:choice': { $: { minOccurs: 0, maxOccurs: 'unbounded' }, ...children(any) } }),
    'xs:attribute': its,
  };
}

function children(parts: XsdParts): XmlElement {
  const elements = Object.entries(parts).map(([part, type]) => {
    const { name, isOptional, isMany } = read(part);
    const occurs = { ...(isOptional ? { minOccurs: 0 } : {}), ...(isMany ? { maxOccurs: 'unbounded' } : {}) };
    return name.includes(':') ? { $: { ref: name, ...occurs } } : typed({ name, ...occurs }, type);
  });
  return { 'xs:element': elements };
}

function read(part: string): { name: string; isOptional: boolean; isMany: boolean } {
  const isMany = part.endsWith('*');
  const isOptional = isMany || part.endsWith('?');
  return { name: isOptional ? part.slice(0, -1) : part, isOptional, isMany };
}

function typed(attributes: XmlElement, type: string | XsdType): XmlElement {
  if (typeof type === 'string') return { $: { ...attributes, type } };
  return { $: attributes, 'xs:complexType': complex(type) };
}
