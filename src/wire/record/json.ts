import { type Direction, type Field, isAlways, type JsonSchema, type Kind, type RecordKind } from './record';

/**
 * JSON schemas of kinds, as OpenAPI has them. Every record is a component, which others refer to: a record within
 * another one that has no name of its own is named after that one and its field, as generators would name it
 * `Anonymous6` (`docs/decisions.md#x36`).
 */
export class JsonSchemas {
  private readonly components = new Map<string, JsonSchema | undefined>();
  /** The names of the records that have been added. */
  private readonly names = { posted: new Map<Kind, string>(), answered: new Map<Kind, string>() };

  /** The components so far, by their names. */
  get byName(): Readonly<Record<string, JsonSchema | undefined>> {
    return Object.fromEntries(this.components);
  }

  /** Adds a component that is of a kind. */
  add(name: string, kind: Kind, direction: Direction): void {
    if (kind.is === 'record') this.refer(name, kind, direction);
    else this.set(name, this.schemaOf(kind, direction, singular(name)));
  }

  /** `name`: of a record that has none. */
  private schemaOf(kind: Kind, direction: Direction, name: string): JsonSchema {
    switch (kind.is) {
      case 'scalar':
        return kind[direction].json;
      case 'list': {
        const { least: minItems, most: maxItems } = kind;
        return {
          type: 'array',
          items: this.schemaOf(kind.of(), direction, name),
          ...(minItems === undefined || direction === 'posted' ? {} : { minItems }),
          ...(maxItems === undefined ? {} : { maxItems }),
        };
      }
      case 'record':
        return this.refer(kind.name ?? this.names[direction].get(kind) ?? name, kind, direction);
    }
  }

  private refer(name: string, kind: RecordKind, direction: Direction): JsonSchema {
    if (this.names[direction].get(kind) !== name) {
      this.names[direction].set(kind, name);
      // It may contain itself.
      if (!this.components.has(name)) this.components.set(name, undefined);
      this.set(name, this.object(name, kind, direction));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  private set(name: string, schema: JsonSchema): void {
    const other = this.components.get(name);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`OpenAPI: two shapes have the name ${name}: give one of them another`);
    this.components.set(name, schema);
  }

  private object(name: string, { fields }: RecordKind, direction: Direction): JsonSchema {
    const all = Object.entries(fields);
    const required = all.filter(([, field]) => isAlways(field, direction)).map(([field]) => field);
    const properties = all.map(([property, field]) => {
      const { kind } = field;
      const schema = this.schemaOf(kind, direction, nameWithin(name, property, kind.is === 'list'));
      return [property, { ...schema, description: descriptionOf(field, direction) }];
    });
    return {
      type: 'object',
      properties: Object.fromEntries(properties) as JsonSchema,
      ...(required.length === 0 ? {} : { required }),
      ...(direction === 'answered' ? { additionalProperties: false } : {}),
    };
  }
}

/** The name of the record in a field: `ProductImage` of `Product.productImage`, `PostedProduct` of `products`. */
function nameWithin(record: string, field: string, isList: boolean): string {
  const list = `${field.charAt(0).toUpperCase()}${field.slice(1)}`;
  const own = isList ? singular(list) : list;
  // What the name of the record ends with need not be said again.
  const words = record.split(/(?=[A-Z])/);
  const ends = words.map((_, at) => words.slice(at).join(''));
  const end = isList && record.endsWith(list) ? list : (ends.find((one) => own.startsWith(one)) ?? '');
  const name = `${record.slice(0, record.length - end.length)}${own}`;
  return name === record ? `${record}Item` : name;
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

function descriptionOf({ kind, description }: Field, direction: Direction): string {
  return `${description}${kind.is === 'scalar' ? (kind[direction].note ?? '') : ''}`;
}
