import { type NewEvent, NO_STREAM } from '../kernel/event';
import {
  APPEND_LIMITS,
  type Appended,
  EngineUnavailable,
  RevisionConflict,
  UnacceptableAppend,
} from '../kernel/event-log';
import { APPEND_SECONDS, APPENDED_EVENTS, APPENDS, type CountedLog } from '../runtime/metrics';
import {
  type CollectionSpec,
  type Document,
  type FieldType,
  type FieldValue,
  MAX_ID_BYTES,
  MAX_TEXT,
  UndeclaredField,
} from '../kernel/read-store';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Validates an append, in every engine. Raises `UnacceptableAppend` if it exceeds `APPEND_LIMITS`, if a name is empty
 * or starts with `$` (reserved by EventStoreDB), if an id is not a lower-case UUID, or if a text cannot be stored
 * unchanged. Of JSON it checks only the braces, as callers have just serialized it.
 *
 * Returns the size as counted by the limits: bytes of `type`, `data` and `meta` in UTF-8.
 */
export function checkAppend(stream: string, expected: number, events: readonly NewEvent[]): number {
  if (!isName(stream)) throw new UnacceptableAppend(`"${stream}" is not a valid name of a stream`);
  if (!Number.isSafeInteger(expected) || expected < NO_STREAM)
    throw new UnacceptableAppend(
      `invalid revision ${expected}: expected an integer of at least ${NO_STREAM}`,
    );
  if (events.length > APPEND_LIMITS.events)
    throw new UnacceptableAppend(
      `${events.length} events in one append: expected at most ${APPEND_LIMITS.events}`,
    );
  let bytes = 0;
  let index = 0;
  for (const { id, type, data, meta } of events) {
    if (!UUID.test(id)) throw refused(index, `id "${id}" is not a lower-case UUID`);
    if (!isName(type)) throw refused(index, `"${type}" is not a valid type of an event`);
    if (!isObjectText(data)) throw refused(index, 'data is not a JSON object');
    if (!isObjectText(meta)) throw refused(index, 'meta is not a JSON object');
    bytes += Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(meta);
    index += 1;
  }
  if (bytes > APPEND_LIMITS.bytes)
    throw new UnacceptableAppend(`${bytes} bytes in one append: expected at most ${APPEND_LIMITS.bytes}`);
  return bytes;
}

function refused(index: number, why: string): UnacceptableAppend {
  return new UnacceptableAppend(`event ${index + 1} of the append: ${why}`);
}

function isName(text: string): boolean {
  return text !== '' && !text.startsWith('$') && isStorable(text);
}

function isObjectText(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}') && isStorable(text);
}

/** UTF-8 cannot encode lone surrogates, and U+0000 ends a text in some stores. Valid JSON contains neither. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Counts an append of so many events, and how long it takes. */
export async function countedAppend(
  log: CountedLog,
  events: number,
  append: () => Promise<Appended>,
): Promise<Appended> {
  const began = performance.now();
  try {
    const appended = await append();
    APPENDS.add(1, { log, result: 'ok' });
    APPENDED_EVENTS.add(events, { log });
    return appended;
  } catch (error) {
    const isConflict = error instanceof RevisionConflict;
    const otherwise = error instanceof EngineUnavailable ? 'unavailable' : 'refused';
    APPENDS.add(1, { log, result: isConflict ? 'conflict' : otherwise });
    throw error;
  } finally {
    APPEND_SECONDS.observe((performance.now() - began) / 1000, { log });
  }
}

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
