import { type Schema } from './xsd';

/** The error list of all services in a namespace (Document 1, Errors; `docs/decisions.md#a1`). */
export function errorSchema(namespace: string): Schema {
  return {
    namespace,
    elements: {
      Response: {
        sequence: {
          errors: {
            sequence: {
              'e*': {
                sequence: { code: 'xs:string', message: 'xs:string', 'sourceProductId?': 'xs:string' },
              },
            },
          },
        },
      },
    },
  };
}
