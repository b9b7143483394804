import { type Direction, isAlways, type Kind, type List, type NamedType, type RecordKind } from './record';
import { type Parts, type Schema, type SimpleType, type XsdType } from '../xml/xsd';

/** The types of kinds in an XML schema, and what these need of simple types and of types that have names. */
export class XsdTypes {
  private readonly simple: Record<string, SimpleType> = {};
  private readonly named: Record<string, XsdType> = {};

  constructor(private readonly direction: Direction) {}

  get types(): Pick<Schema, 'simpleTypes' | 'types'> {
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

  private items({ of, each }: List): Parts {
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
    const attributes: Record<string, Parts[string]> = {};
    const elements: Record<string, Parts[string]> = {};
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

  private elementsOf({ sequence, all, any }: XsdType): Parts {
    return sequence ?? all ?? any ?? {};
  }

  /** Elements are posted in any order; where one may be there many times, all may. */
  private children(elements: Parts): XsdType {
    if (this.direction === 'answered') return { sequence: elements };
    const parts = Object.entries(elements);
    if (parts.every(([part]) => !part.endsWith('*'))) return { all: elements };
    return { any: Object.fromEntries(parts.map(([part, type]) => [part.replace(/[?*]$/, ''), type])) };
  }
}
