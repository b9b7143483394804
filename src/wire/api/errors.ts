import { type Fault } from '../../kernel/fault';
import { type AnswerOf, listOf, record } from '../record/record';
import { text } from '../record/kinds';
import { schemaOf } from '../record/document';
import { xmlWriter } from '../record/xml';
import { type XmlElement } from '../xml/write';
import { type Schema } from '../xml/xsd';

const error = record({
  code: { kind: text(), description: 'Code of the error' },
  message: { kind: text(), description: 'Description of the error' },
  sourceProductId: { kind: text(), optional: true, description: 'The product concerned' },
});

const description = 'All errors';

/** The error list of all services (Document 1, Errors; `docs/decisions.md#a1`); an empty one reports success. */
export const errorList = record(
  { errors: { kind: listOf(error, { each: 'e' }), description } },
  { name: 'ErrorList' },
);

/** The same as some answers have it in XML (Document 3, Errors). */
export const bareErrorList = record({ errors: { kind: listOf(error, { each: 'error' }), description } });

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
const toBareXml = xmlWriter(bareErrorList);

/** The same as XML: root `Response` in the service's namespace, or without a namespace root `errors` with `error` elements. */
export function errorsAsXml(faults: readonly Fault[], namespace: string | undefined): XmlElement {
  if (namespace === undefined) return toBareXml(errorsAsJson(faults));
  return { Response: { ...toXml(errorsAsJson(faults)), $: { xmlns: namespace } } };
}

/** The XML schema of the error lists in a namespace. */
export function errorSchema(namespace: string): Schema {
  return { ...schemaOf(errorList, { file: '', root: 'Response' }, 'answered'), namespace };
}
