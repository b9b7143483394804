import { type FaultTable } from '../../kernel/fault';
import { type KeyType } from '../keys/keys';
import { type Kind } from '../record/record';
import { type SchemaFiles } from '../xml/xsd';

/** A service's interface, as its users see it: data only. */
export interface Description {
  readonly title: string;
  readonly description: string;
  readonly faults: FaultTable;
  readonly schemas: SchemaFiles;
  /** File of the XML schema of its error lists. */
  readonly errorSchema: string;
  /** Messages that it sends to those who subscribe to them. */
  readonly webhooks?: readonly Webhook[];
}

/** A request that is sent to others: its body has what they want of the message. */
export interface Webhook {
  /** A noun, unique among operations too. */
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly headers: Readonly<Record<string, HeaderText>>;
  readonly message: Shape;
  readonly example: (now: Date) => object;
  /** What answers mean, by status. */
  readonly answers: Readonly<Record<string, string>>;
}

/** A header; without `isOptional` each request has it. */
export interface HeaderText {
  readonly description: string;
  readonly example: string;
  readonly isOptional?: true;
}

/** The shape of an answer or a body, by its name in OpenAPI. */
export interface Shape<K extends Kind = Kind> {
  readonly name: string;
  readonly kind: K;
  /** In CSV, fields that an answer may lack are columns too. */
  readonly hasAllColumns?: true;
  /** Absent for shapes without XML. */
  readonly xml?: XmlDocument;
  /** By format; by default they are composed of those of its fields. */
  readonly examples?: ExampleTexts;
}

interface ExampleTexts {
  readonly json?: object;
  readonly xml?: string;
  readonly csv?: string;
  readonly tsv?: string;
  readonly rss?: string;
  readonly ics?: string;
  readonly ndjson?: string;
  readonly text?: string;
}

/** A shape whose XML schema is in a file of its name. */
export function shape<K extends Kind>(name: string, kind: K, root?: string): Shape<K> {
  return { name, kind, xml: { file: `${name}_v1_0.xsd`, ...(root === undefined ? {} : { root }) } };
}

export interface XmlDocument {
  readonly file: string;
  /** Its root element. Without one, the only field of the record or the only item of the list is the root. */
  readonly root?: string;
  /** Attributes of the root that have one value, and its namespaces. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Its content in XML, if the structure differs from JSON. */
  readonly kind?: Kind;
}

export interface PostedShape extends Shape {
  /** A request may have no body. */
  readonly isOptional?: true;
}

interface PathParameter {
  readonly type: KeyType<unknown>;
  readonly description: string;
  readonly example: unknown;
}

/** Describes an operation; its path, keys, formats and callers are read from its handler. */
export interface OperationText {
  /** A verb and a noun, unique. */
  readonly id: string;
  readonly summary: string;
  /** Another operation replaces it. */
  readonly isDeprecated?: true;
  readonly description?: string;
  readonly example?: Readonly<Record<string, unknown>>;
  readonly path?: Readonly<Record<string, PathParameter>>;
  readonly body?: PostedShape;
  /** Absent: it has no body. */
  readonly answer?: Shape;
  /** HTTP status of a success; by default 200, and 204 without an answer. */
  readonly status?: number;
  /** Why a 400 may also have this shape. */
  readonly partly?: string;
  /** Headers of its answer, in addition to those of all operations. */
  readonly sends?: Readonly<Record<string, string>>;
  /** It loads a feed, whatever its size: the same load again changes nothing, so it takes no `Idempotency-Key`. */
  readonly isLoad?: true;
  /** A read that may be refused with 409, which is otherwise one of writes. */
  readonly mayConflict?: true;
  /** Other statuses with the same answer, and what they mean. */
  readonly also?: Readonly<Record<number, string>>;
}

/** Operations, each with its name in the table as its id. */
export function operationsById<const Texts extends Readonly<Record<string, Omit<OperationText, 'id'>>>>(
  texts: Texts & { readonly [Id in keyof Texts]: Without<Exclude<keyof Texts[Id], keyof OperationText>> },
): { readonly [Id in keyof Texts]: Texts[Id] & { readonly id: Id & string } } {
  const operations = Object.entries(texts).map(([id, text]) => [id, { id, ...text }]);
  return Object.fromEntries(operations) as never;
}

/** Refuses names that nothing reads: a misspelt one. */
type Without<Name extends PropertyKey> = { readonly [Each in Name]?: never };
