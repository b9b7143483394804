import { defineService, type Service, type ServiceDefinition } from '../http/service';
import { type OperationText } from '../wire/api/description';
import { schemaFiles } from '../wire/record/document';
import { conversionFaults as fault, conversionFaultTable } from '../domain/conversion-faults';

type Operations = Readonly<Record<string, OperationText>>;

/** Document 2, Errors. JSON bodies may omit the charset (`docs/decisions.md#a10`). */
const FAULTS: ServiceDefinition['faults'] = {
  unusable: fault.content,
  notAdmitted: fault.userType,
  unexpected: fault.unexpected,
  methodNotAllowed: fault.methodNotSupported,
  body: {
    type: fault.contentType,
    charset: fault.contentType,
  },
};

/** The conversion notification service (Document 2), with the transactions that subscribers are notified of. */
export function conversionService(operations: Operations): Service {
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
    faults: FAULTS,
  });
}

/** Subscriptions to claims: for their tokens, otherwise as Document 2 has it (`docs/decisions.md#c13`). */
export function claimSubscriptionService(operations: Operations): Service {
  return defineService({
    system: 'CLAIMS',
    modules: ['claims/subscriptions'],
    description: {
      title: 'Claim subscriptions',
      description: 'Subscriptions to messages about claims.',
      faults: conversionFaultTable,
      schemas: () => schemaFiles(operations),
      errorSchema: 'ClaimSubscriptionErrors_v1_0.xsd',
    },
    faults: FAULTS,
  });
}
