import { faultsOf } from '../../kernel/fault';

/** Document 1, Errors: the rows of module Products that are used; `docs/decisions.md#p2` lists when. */
export const productFaultTable = {
  parametersMissing: ['PF_200', 400, 'Parameters missing'],
  noParsableContent: ['PF_210', 400, 'No parsable content received'],
  unexpected: ['PF_230', 400, 'Unexpected and unknown error'],
  valueNotSet: ['PF_240', 400, 'A value is not set'],
  notNumeric: ['PF_260', 400, 'Value expected numeric but was not'],
  notCommaSeparated: ['PF_270', 400, 'Value expected comma separated'],
  priceNotParsable: ['PF_280', 400, 'Price could not be parsed'],
  currencyNotIso: ['PF_290', 400, 'Currency is not a valid ISO currency'],
  tokenRequestNotValid: ['PF_300', 400, 'Token request not valid'],
  malformedUrl: ['PF_391', 400, 'Malformed URL supplied'],
  foreignFeed: ['PF_392', 400, 'The feed does not belong to a program of the caller'],
  illegalValue: ['PF_430', 400, 'Parameter has illegal value'],
} as const;

export const productFaults = faultsOf(productFaultTable);
