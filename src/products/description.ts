import { type Description } from '../wire/description';
import { productFaultTable } from './faults';
import { productSchemas } from './xml-schemas';

/** The product service as it is described to those who use it (Document 1). */
export const productDescription: Description = {
  title: 'Products',
  description: 'Product feeds: loading, searching, downloading; categories, mappings, feeds.',
  faults: productFaultTable,
  schemas: productSchemas,
  errorSchema: 'ProductErrors_v1_0.xsd',
};
