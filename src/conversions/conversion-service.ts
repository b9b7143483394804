import { defineService, type Service } from '../http/service';
import { type OperationText } from '../wire/description';
import { schemaFiles } from '../wire/record-document';
import { conversionFaults as fault, conversionFaultTable } from './faults';

/**
 * The conversion notification service (Document 2), with the transactions that it tells subscribers of. JSON bodies may omit the charset
 * (`docs/decisions.md#a10`).
 */
export function conversionService(operations: Readonly<Record<string, OperationText>>): Service {
  return defineService({
    system: 'CONVERSIONS',
    modules: ['conversions'],
    description: {
      title: 'Conversions',
      description:
        'Transactions: reporting, approving, denying, listing, totals. Subscriptions to messages about them.',
      faults: conversionFaultTable,
      schemas: () => schemaFiles(operations),
      errorSchema: 'ConversionErrors_v1_0.xsd',
    },
    faults: {
      unusable: fault.content,
      notAdmitted: fault.userType,
      unexpected: fault.unexpected,
      methodNotAllowed: fault.methodNotSupported,
      body: {
        type: fault.contentType,
        charset: fault.contentType,
        missingCharset: fault.syntax,
        charsetOptional: ['json'],
      },
    },
  });
}
