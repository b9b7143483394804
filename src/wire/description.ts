import { type z } from 'zod';
import { type FaultTable } from '../kernel/fault';
import { type KeyType } from './key-types';
import { type SchemaFiles } from './xsd';

/** What a service tells of its interface to those who are to use it: data only. */
export interface Description {
  readonly title: string;
  readonly description: string;
  readonly faults: FaultTable;
  readonly schemas: SchemaFiles;
  /** File of the XML schema of its error lists. */
  readonly errorSchema: string;
}

/** What is sent or posted, by the name it has in the description. */
export interface Shape {
  readonly name: string;
  readonly json: z.ZodType;
  /** Parts of it that have names of their own. */
  readonly parts?: Readonly<Record<string, z.ZodType>>;
  /** File of the XML schema; absent for what is never sent or posted as XML. */
  readonly xml?: string;
}

/** A body, with an example in each format that it may have. */
export interface PostedShape extends Shape {
  readonly examples: { readonly json: object; readonly xml?: string; readonly csv?: string };
}

/** What is told of an operation beside its path, keys, formats and callers, which are read from its handler. */
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
