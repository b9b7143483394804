import { hash } from 'node:crypto';
import { type estypes } from '@elastic/elasticsearch';
import { type Position } from '../../kernel/event';
import { type Found } from '../../kernel/query';
import {
  type CollectionSpec,
  type Document,
  type FieldType,
  type FieldValue,
  MAX_COUNTED,
  type Target,
} from '../../kernel/read-store';
import { Declaration } from '../validation';

/** The fields of a stored document that are read back. */
export function foundOf(stored: Found | undefined): Found[] {
  return stored === undefined ? [] : [{ id: stored.id, version: stored.version, body: stored.body }];
}

/** Uses only what a server without plug-ins supports. Only fields to sort, group or count by have `doc_values`. */
const MAPPINGS: Readonly<Record<FieldType, estypes.MappingProperty>> = {
  number: { type: 'long' },
  keyword: { type: 'keyword', doc_values: false },
  column: { type: 'keyword' },
  text: { type: 'keyword', index: false },
  words: { type: 'text', analyzer: 'whitespace', index_options: 'docs', norms: false },
};

/** The field that documents have, and the entries of removed documents do not. */
export const ID = 'id';

/** The refresh interval of a generation that is being built: never. */
export const NO_REFRESH = '-1';

/** Maps a collection's declaration to an index. */
export class IndexLayout extends Declaration {
  constructor(readonly spec: CollectionSpec) {
    super(spec);
  }

  /** Settings and mappings of a new generation. */
  index(): Pick<estypes.IndicesCreateRequest, 'settings' | 'mappings'> {
    const fields = [...this.fields.values()].map(({ name, type }) => [
      property(name),
      type === 'keyword' && this.isFacet(name) ? MAPPINGS.column : MAPPINGS[type],
    ]);
    const [first] = this.spec.sorts ?? [];
    return {
      settings: {
        number_of_shards: 1,
        auto_expand_replicas: '0-1',
        refresh_interval: NO_REFRESH,
        // Documents arrive in the order of their times: in that order, each would be newer than all found before.
        ...(first === undefined ? {} : { sort: { field: property(first), order: 'desc' } }),
      },
      mappings: {
        dynamic: 'strict',
        _meta: { spec: this.spec },
        properties: {
          [ID]: { type: 'keyword', index: false },
          version: { type: 'object', enabled: false },
          body: { type: 'object', enabled: false },
          ...(Object.fromEntries(fields) as Record<string, estypes.MappingProperty>),
        },
      },
    };
  }

  /** A document as the JSON text to index. Concatenated by hand, since writes spend much of their time here. */
  source({ id, fields, body }: Document, version: Position): string {
    let text = `{"id":${JSON.stringify(id.toWellFormed())},"version":"${version}","body":${JSON.stringify(body)}`;
    for (const { name, type } of this.fields.values()) {
      const value = fields[name];
      if (value !== undefined) text += `,${JSON.stringify(property(name))}:${valueOf(type, value)}`;
    }
    return `${text}}`;
  }
}

function valueOf(type: FieldType, value: FieldValue): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string')
    return JSON.stringify(type === 'text' ? value.toWellFormed() : encode(value));
  return type === 'words' ? JSON.stringify(encodeWords(value)) : JSON.stringify(value.map(encode));
}

/** A field's name in the index, with a prefix to avoid clashes with the fields of every document. */
export function property(field: string): string {
  return `f_${field}`;
}

/** Longer values are hashed: an index refuses very long ones, and splits words of more than 255 characters. */
const MAX_LENGTH = MAX_COUNTED;
const HASH_MARK = '\u0001';

/** A value or word as it is indexed and searched for. Different values have different encodings. */
export function encode(value: string): string {
  const text = value.toWellFormed();
  return text.length > MAX_LENGTH || text.startsWith(HASH_MARK)
    ? `${HASH_MARK}${hash('sha256', text)}`
    : text;
}

/** Words as one text, which the server splits at blanks. */
function encodeWords(words: readonly string[]): string {
  const text = words.join(' ');
  return words.some((word) => word.length > MAX_LENGTH) ? words.map(encode).join(' ') : text.toWellFormed();
}

/** The server allows 512 bytes. */
const MAX_NAME_BYTES = 500;

/** A document's `_id` in the server; long ids are hashed. The prefix sets documents apart from other entries. */
export function nameOf(id: string): string {
  return Buffer.byteLength(id) > MAX_NAME_BYTES ? `#${hash('sha256', id)}` : `=${id}`;
}

/** `byIndex`: by the name of its index, not by an alias that it loses when it is dropped. */
export interface IndexTarget extends Target {
  readonly byIndex?: boolean;
}

/**
 * Names of indices and aliases: `<prefix>.<collection>.…`. Names of collections have no dots.
 *
 * A generation is one index. Its state is recorded only in its aliases, which change together, atomically.
 */
export class Names {
  constructor(private readonly prefix: string) {}

  /** The index for what has no generations. */
  get control(): string {
    return `${this.prefix}.control`;
  }

  index(collection: string, number: number): string {
    return `${this.prefix}.${collection}.${number}`;
  }

  /** The alias of a generation from its creation until it is dropped; writes use it. */
  generation(collection: string, number: number): string {
    return `${this.prefix}.${collection}.g${number}`;
  }

  /** The alias of the live generation. */
  live(collection: string): string {
    return `${this.prefix}.${collection}.live`;
  }

  /** The alias of generations that are or were live. */
  swapped(collection: string): string {
    return `${this.prefix}.${collection}.swapped`;
  }

  /** The only alias of an index that was dropped at this time (epoch ms). */
  dropped(collection: string, at: number): string {
    return `${this.prefix}.${collection}.dropped-${at}`;
  }

  droppedAt(alias: string): number | undefined {
    const at = /\.dropped-(\d+)$/.exec(alias)?.[1];
    return at === undefined ? undefined : Number(at);
  }

  of({ collection, generation, byIndex = false }: IndexTarget): string {
    if (generation === undefined) return this.live(collection);
    return byIndex ? this.index(collection, generation) : this.generation(collection, generation);
  }

  /** A pattern for all indices of a collection, or of every collection. */
  all(collection = '*'): string {
    return `${this.prefix}.${collection}.*`;
  }
}
