import { type Direction, type Field, isAlways, type JsonSchema, type Kind, type RecordKind } from './record';

/** JSON schemas of kinds, as OpenAPI has them: records that have a name are components, and others refer to them. */
export class JsonSchemas {
  private readonly components = new Map<string, JsonSchema | undefined>();

  /** The components so far, by their names. */
  get byName(): Readonly<Record<string, JsonSchema | undefined>> {
    return Object.fromEntries(this.components);
  }

  /** Adds a component that is of a kind. */
  add(name: string, kind: Kind, direction: Direction): void {
    if (kind.is === 'record') this.refer(name, kind, direction);
    else this.components.set(name, this.schemaOf(kind, direction));
  }

  private schemaOf(kind: Kind, direction: Direction): JsonSchema {
    switch (kind.is) {
      case 'scalar':
        return kind[direction].json;
      case 'list': {
        const { least: minItems, most: maxItems } = kind;
        return {
          type: 'array',
          items: this.schemaOf(kind.of(), direction),
          ...(minItems === undefined || direction === 'posted' ? {} : { minItems }),
          ...(maxItems === undefined ? {} : { maxItems }),
        };
      }
      case 'record':
        return kind.name === undefined
          ? this.object(kind, direction)
          : this.refer(kind.name, kind, direction);
    }
  }

  private refer(name: string, kind: RecordKind, direction: Direction): JsonSchema {
    if (!this.components.has(name)) {
      // It may contain itself.
      this.components.set(name, undefined);
      this.components.set(name, this.object(kind, direction));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  private object({ fields }: RecordKind, direction: Direction): JsonSchema {
    const all = Object.entries(fields);
    const required = all.filter(([, field]) => isAlways(field, direction)).map(([name]) => name);
    const properties = all.map(([name, field]) => [
      name,
      { ...this.schemaOf(field.kind, direction), description: descriptionOf(field, direction) },
    ]);
    return {
      type: 'object',
      properties: Object.fromEntries(properties) as JsonSchema,
      ...(required.length === 0 ? {} : { required }),
      ...(direction === 'answered' ? { additionalProperties: false } : {}),
    };
  }
}

function descriptionOf({ kind, description }: Field, direction: Direction): string {
  return `${description}${kind.is === 'scalar' ? (kind[direction].note ?? '') : ''}`;
}
