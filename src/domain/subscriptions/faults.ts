import { faultsOf } from '../../kernel/fault';

/**
 * Document 2, Errors: subscription errors; `{0}` and `{1}` are replaced by what the message names. The last six are
 * beyond the document (`docs/decisions.md#t2`, `#n16`, `#n17`, `#t1`).
 */
export const conversionFaultTable = {
  notRelated: ['CON_200', 403, 'Subscription not related to the subscriber'],
  unknownSubscription: ['CON_210', 404, 'Subscription does not exist'],
  unknownProgram: ['CON_220', 404, 'Program does not exist or is not active'],
  noProgramAccess: ['CON_230', 403, 'No access to data for the program'],
  noEventAccess: ['CON_240', 403, 'No access to data for the event'],
  noReceiver: ['CON_250', 400, 'Request has no receiver'],
  noMethod: ['CON_260', 400, 'Receiver has no request method'],
  urlSyntax: ['CON_270', 400, 'Invalid syntax in receiverUrl'],
  urlProtocol: ['CON_280', 400, 'Unsupported protocol in receiverUrl'],
  bodySyntax: ['CON_290', 400, 'Invalid syntax in receiverBody'],
  methodNotSupported: ['CON_300', 405, 'HTTP method not supported for the request'],
  syntax: ['CON_310', 400, 'Request syntactically incorrect'],
  noFormat: ['CON_320', 400, 'receiverFormat missing for POST'],
  userType: ['CON_330', 400, 'User type not supported'],
  unexpected: ['CON_340', 500, 'Unknown server-side error'],
  content: ['CON_350', 400, 'Incorrect content in a named field'],
  contentType: ['CON_360', 400, 'Content type not supported'],
  bodyOfGet: ['CON_370', 400, 'GET receiver contains receiverBody'],
  formatOfGet: ['CON_380', 400, 'GET receiver contains receiverFormat'],
  format: ['CON_390', 400, 'receiverFormat value not supported'],
  currency: ['CON_400', 400, 'Currency not supported'],
  noMessageType: ['CON_410', 400, 'No message type ID selected'],
  paidForAdvertiser: ['CON_420', 400, 'Advertiser may not subscribe to message type 9'],
  noSiteAccess: ['CON_430', 400, 'No access to data for the site id'],
  attribute: ['CON_440', 400, 'Attribute name not accepted'],
  unknownTransaction: ['CON_500', 404, 'Transaction does not exist'],
  alreadyReported: ['CON_510', 409, 'Transaction was reported with other content'],
  noSuchTransition: ['CON_520', 409, 'Transaction cannot make this transition in its state'],
  unknownReceiver: ['CON_530', 404, 'Subscription has no such receiver'],
  unknownDelivery: ['CON_540', 404, 'Subscription has no such message'],
  ambiguous: ['CON_550', 409, 'legacyTransactionId names several transactions'],
} as const;

export const conversionFaults = faultsOf(conversionFaultTable);
