import { type FaultTable } from '../kernel/fault';
import { type KeyType } from './key-types';
import { type Kind } from './record';
import { type SchemaFiles } from './xsd';

/** A service's interface, as its users see it: data only. */
export interface Description {
  readonly title: string;
  readonly description: string;
  readonly faults: FaultTable;
  readonly schemas: SchemaFiles;
  /** File of the XML schema of its error lists. */
  readonly errorSchema: string;
}

/** What is sent or posted, by the name it has in the description. */
export interface Shape<K extends Kind = Kind> {
  readonly name: string;
  readonly kind: K;
  /** Absent for what is never sent or posted as XML. */
  readonly xml?: XmlDocument;
}

export interface XmlDocument {
  /** File of its XML schema. */
  readonly file: string;
  /** Its root element. Without one, the only field of the record or the only item of the list is the root. */
  readonly root?: string;
  /** Attributes of the root that have one value, and its namespaces. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** What it holds, where XML has another structure than JSON. */
  readonly kind?: Kind;
}

/** A body. Its examples are made of those of its fields, where they are not given here. */
export interface PostedShape extends Shape {
  readonly examples?: { readonly json?: object; readonly csv?: string };
}

/** How an operation is described beside its path, keys, formats and callers, which are read from its handler. */
export interface OperationText {
  /** A verb and a noun, unique. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Keys to try it with. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Parameters of the path. */
  readonly path?: Readonly<Record<string, { readonly type: KeyType<unknown>; readonly description: string }>>;
  readonly body?: PostedShape;
  /** Absent: nothing, with status 204. */
  readonly answer?: Shape;
  /** Why it may be answered 400 and still in this shape. */
  readonly partly?: string;
  /** Headers of its answer, beside those that all have. */
  readonly sends?: Readonly<Record<string, string>>;
  /** Answers beside the usual ones, by status. */
  readonly also?: Readonly<Record<number, string>>;
}
