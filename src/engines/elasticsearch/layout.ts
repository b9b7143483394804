import { type estypes } from '@elastic/elasticsearch';
import { type Found } from '../../kernel/query';
import { type CollectionSpec, type Document, type FieldType, type FieldValue } from '../../kernel/read-store';
import { type Position } from '../../kernel/event';
import { Declaration } from '../declaration';
import { encode, encodeWords } from './tokens';

/** What is kept of every document, and all that is read back. */
export interface Kept {
  readonly id: string;
  readonly version: Position;
  readonly body: string;
}

/** A document as it was kept. */
export function foundOf(kept: Kept | undefined): Found[] {
  return kept === undefined ? [] : [{ id: kept.id, version: kept.version, body: kept.body }];
}

/** Nothing but what a server without any plug-in has. Values are counted by searching: a copy of them in columns is for sorting. */
const MAPPINGS: Readonly<Record<FieldType, estypes.MappingProperty>> = {
  number: { type: 'long' },
  keyword: { type: 'keyword', doc_values: false },
  column: { type: 'keyword' },
  words: { type: 'text', analyzer: 'whitespace', index_options: 'docs', norms: false },
};

/** Present in documents only, not in what is kept of removed ones. */
export const ID = 'id';

/** How often what is being filled is refreshed: never. */
export const FILLED = '-1';

/** A collection's declaration, read as an index. */
export class Layout extends Declaration {
  constructor(readonly spec: CollectionSpec) {
    super(spec);
  }

  /** The index of an empty generation. It is filled without being refreshed. */
  index(): Pick<estypes.IndicesCreateRequest, 'settings' | 'mappings'> {
    const fields = [...this.fields.values()].map(({ name, type }) => [property(name), MAPPINGS[type]]);
    return {
      settings: {
        number_of_shards: 1,
        auto_expand_replicas: '0-1',
        refresh_interval: FILLED,
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

  /** The text of a document as it is indexed; put together piece by piece, since much of a write's time goes here. */
  source({ id, fields, body }: Document, version: Position): string {
    let text = `{"id":${JSON.stringify(id.toWellFormed())},"version":"${version}","body":${JSON.stringify(body)}`;
    for (const { name, type } of this.fields.values()) {
      const value = fields[name];
      if (value !== undefined) text += `,${JSON.stringify(property(name))}:${valueOf(type, value)}`;
    }
    return `${text}}`;
  }
}

/** A value as JSON. */
function valueOf(type: FieldType, value: FieldValue): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(encode(value));
  return type === 'words' ? JSON.stringify(encodeWords(value)) : JSON.stringify(value.map(encode));
}

/** What a field is called in the index: set apart from what every collection has. */
export function property(field: string): string {
  return `f_${field}`;
}
