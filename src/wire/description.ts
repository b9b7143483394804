import { type SchemaFiles } from './xsd';

/** What a service tells of its interface to those who are to use it: data only. */
export interface Description {
  readonly schemas: SchemaFiles;
}
