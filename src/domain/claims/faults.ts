import { Fault, Faults, faultsOf } from '../../kernel/fault';

/** Document 3, Errors; the status of each is ours (`docs/decisions.md#c7`). */
export const claimFaultTable = {
  missingParameter: ['UTS_200', 400, 'Missing parameter'],
  notJson: ['UTS_210', 400, 'Non-parsable JSON'],
  notReadable: ['UTS_211', 400, 'Unknown data caused a parse exception'],
  notCsv: ['UTS_212', 400, 'Non-parsable CSV data'],
  manyErrors: ['UTS_213', 400, 'Multiple errors in input data'],
  unexpected: ['UTS_230', 500, 'Unknown error'],
  missingValue: ['UTS_240', 400, 'Missing value in JSON for claim'],
  notNumeric: ['UTS_260', 400, 'Non-numeric parameter'],
  notDate: ['UTS_265', 400, 'Non-date parameter'],
  notCommaSeparated: ['UTS_270', 400, 'Parameter is not comma separated'],
  notXml: ['UTS_291', 400, 'XML could not be parsed'],
  tokenRequest: ['UTS_300', 400, 'Token request not valid'],
  tokenType: ['UTS_304', 403, 'Token type not valid'],
  statusNotAllowed: ['UTS_306', 403, 'Advertiser cannot use the status'],
  contentType: ['UTS_370', 415, 'Only JSON or XML content allowed'],
  exportFailed: ['UTS_380', 500, 'Export of claims failed'],
  unknownStatus: ['UTS_394', 400, 'Invalid claim status id'],
  publishersOnly: ['UTS_395', 403, 'Creation or upload of claims only for publishers'],
  foreignSite: ['UTS_396', 403, 'The site is not one of the publisher'],
  notUnique: [
    'UTS_397',
    409,
    'The combination of transaction date, program id, event id and order number must be unique',
  ],
  notFiled: ['UTS_398', 500, 'Failed to persist the claim'],
  notUpdated: ['UTS_399', 500, 'Failed to persist the claim update'],
  badUrl: ['UTS_400', 404, 'Bad URL'],
  notFound: ['UTS_402', 404, 'Claim cannot be found'],
  notConnected: ['UTS_403', 403, 'No connection between the affiliate and the program'],
  foreignClaim: ['UTS_404', 403, 'Organisation may not access the claim'],
  wrongStatus: ['UTS_405', 409, 'Claim cannot be deleted or updated because of its status'],
  encoding: ['UTS_410', 415, 'Encoding not supported'],
  contentTypeSyntax: ['UTS_420', 415, 'Content type of the request could not be parsed'],
  illegalValue: ['UTS_430', 400, 'Parameter has illegal value'],
} as const;

export const claimFaults = faultsOf(claimFaultTable);

/** Faults that an answer lists (`docs/decisions.md#c7`). */
export const MOST_FAULTS = 1000;

/** A fault whose message names the item. */
export function placed({ code, status, message, details }: Fault, place: string): Fault {
  return new Fault(code, status, `${place}: ${message}`, details);
}

/** Raises these faults, if there are any, with the status of the first; `more`: how many there are besides. */
export function raiseFaults(faults: readonly Fault[], more = 0): void {
  if (faults.length > 0) throw new Faults(listed(faults, more), faults[0]?.status);
}

/** Items of a list are refused for their fields. Who catches it may add other faults, by what was `found` in each. */
export class RefusedItems extends Faults {
  constructor(
    readonly ofFields: readonly Fault[],
    /** How many there are besides. */
    readonly more: number,
    readonly found: readonly Readonly<Record<string, unknown>>[],
  ) {
    super(listed(ofFields, more), ofFields[0]?.status);
  }
}

function listed(faults: readonly Fault[], more: number): readonly Fault[] {
  const first = faults.slice(0, MOST_FAULTS);
  const others = more + faults.length - first.length;
  const rest = `${others} more errors: the answer lists the first ${MOST_FAULTS}; correct these and post again`;
  return others === 0 ? first : [...first, claimFaults.manyErrors(rest)];
}
