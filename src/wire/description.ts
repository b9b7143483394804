import { type z } from 'zod';
import { type FaultTable } from '../kernel/fault';
import { type KeyType } from './key-types';
import { type SchemaFiles } from './xsd';

/** What a service tells of its interface to those who are to use it: data only. */
export interface Description {
  readonly title: string;
  readonly says: string;
  readonly faults: FaultTable;
  readonly schemas: SchemaFiles;
}

/** What is sent or posted, by the name it has in the description. */
export interface Shape {
  readonly name: string;
  readonly json: z.ZodType;
  /** Parts of it that have names of their own. */
  readonly parts?: Readonly<Record<string, z.ZodType>>;
  /** File of the XML schema. */
  readonly xml: string;
}

/** What is told of an operation beside its path, keys, formats and callers, which are read from its handler. */
export interface OperationText {
  /** A verb and a noun, unique. */
  readonly id: string;
  readonly summary: string;
  readonly says?: string;
  /** Keys to try it with. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Parameters of the path. */
  readonly path?: Readonly<Record<string, { readonly type: KeyType<unknown>; readonly says: string }>>;
  readonly body?: Shape & { readonly example: object; readonly xmlExample: string };
  readonly answer: Shape;
  /** Headers of its answer, beside those that all have. */
  readonly sends?: Readonly<Record<string, string>>;
  /** Answers beside the usual ones, by status. */
  readonly also?: Readonly<Record<number, string>>;
}
