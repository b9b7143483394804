import { type Description } from '../wire/description';
import { productSchemas } from './xml-schemas';

/** The product service as it is described to those who use it (Document 1). */
export const productDescription: Description = {
  schemas: productSchemas,
};
