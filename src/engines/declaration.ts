import {
  type CollectionSpec,
  type Document,
  type FieldType,
  type FieldValue,
  MAX_ID_BYTES,
  MAX_TEXT,
  UndeclaredField,
} from '../kernel/read-store';

export interface DeclaredField {
  readonly name: string;
  readonly type: FieldType;
  /** Its index in the declaration, from 0. */
  readonly index: number;
}

/** The declared fields of a collection, and checks against them. All methods raise `UndeclaredField`. */
export class Declaration {
  readonly partition: string | undefined;
  readonly fields: ReadonlyMap<string, DeclaredField>;
  private readonly facets: readonly string[];

  constructor({ fields, partition, sorts = [], facets = [] }: CollectionSpec) {
    this.fields = new Map(
      Object.entries(fields).map(([name, type], index) => [name, { name, type, index }] as const),
    );
    this.partition = partition;
    for (const name of [...sorts, ...(partition === undefined ? [] : [partition])])
      this.field(name, 'number');
    this.facets = facets;
    for (const name of facets) {
      this.field(name, 'keyword', 'number');
      if (sorts.includes(name))
        throw new UndeclaredField(`${name} is a sort field: its values are not counted`);
    }
  }

  /** Whether the values of a field are counted. */
  isFacet(name: string): boolean {
    return this.facets.includes(name);
  }

  /** The declared field with this name whose values are counted. */
  facet(name: string): DeclaredField {
    if (!this.isFacet(name)) throw new UndeclaredField(`${name} is not declared as a facet`);
    return this.field(name, 'keyword', 'number');
  }

  field(name: string, ...types: readonly FieldType[]): DeclaredField {
    const field = this.fields.get(name);
    if (field === undefined) throw new UndeclaredField(`${name} is not a declared field`);
    if (!types.includes(field.type))
      throw new UndeclaredField(`${name} is a ${field.type} field, not ${types.join(' or ')}`);
    return field;
  }

  /** Validates a document: its fields, its partition and its id. */
  check({ id, fields }: Document): void {
    checkId(id);
    for (const [name, value] of Object.entries(fields)) {
      const field = this.fields.get(name);
      if (field === undefined || !isOf(field.type, value))
        throw new UndeclaredField(`${name} of ${id} is not as declared: ${field?.type ?? 'no such field'}`);
    }
    if (this.partition !== undefined && fields[this.partition] === undefined)
      throw new UndeclaredField(`${this.partition} of ${id} is missing`);
  }
}

/** Validates the length of an id. */
export function checkId(id: string): void {
  // A UTF-16 unit takes at most three bytes.
  if (id.length * 3 > MAX_ID_BYTES && Buffer.byteLength(id) > MAX_ID_BYTES)
    throw new UndeclaredField(`an id has ${Buffer.byteLength(id)} bytes: expected at most ${MAX_ID_BYTES}`);
}

/** Whether a field of this type can have the value. */
export function isOf(type: FieldType, value: FieldValue): boolean {
  if (type === 'number') return Number.isSafeInteger(value);
  if (type === 'column') return typeof value === 'string';
  if (type === 'text') return typeof value === 'string' && value.length <= MAX_TEXT;
  if (typeof value === 'object') return value.every((one) => typeof one === 'string');
  return type === 'keyword' && typeof value === 'string';
}
