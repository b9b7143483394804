import { type Fault } from '../kernel/fault';
import { type AnswerOf, listOf, record } from './record';
import { text } from './record-kinds';
import { schemaOf } from './record-document';
import { xmlWriter } from './record-xml';
import { type XmlElement } from './xml-write';
import { type Schema } from './xsd';

/** The error list of all services (Document 1, Errors; `docs/decisions.md#a1`); an empty one reports success. */
export const errorList = record(
  {
    errors: {
      kind: listOf(
        record({
          code: { kind: text(), description: 'Code of the error' },
          message: { kind: text(), description: 'Description of the error' },
          sourceProductId: { kind: text(), optional: true, description: 'The product concerned' },
        }),
        { each: 'e' },
      ),
      description: 'All errors',
    },
  },
  { name: 'ErrorList' },
);

export function errorsAsJson(faults: readonly Fault[]): AnswerOf<typeof errorList> {
  return {
    errors: faults.map(({ code, message, details: { sourceProductId } }) => ({
      code,
      ...(sourceProductId === undefined ? {} : { sourceProductId }),
      message,
    })),
  };
}

const toXml = xmlWriter(errorList);

/** The same as XML: root `Response` in the service's namespace. */
export function errorsAsXml(faults: readonly Fault[], namespace: string): XmlElement {
  return { Response: { ...toXml(errorsAsJson(faults)), $: { xmlns: namespace } } };
}

/** The XML schema of the error lists in a namespace. */
export function errorSchema(namespace: string): Schema {
  return { ...schemaOf(errorList, { file: '', root: 'Response' }, 'answered'), namespace };
}
