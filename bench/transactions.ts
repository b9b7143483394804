import { type TransactionFacts } from '../src/domain/transactions/transaction-facts';

/** Facts of a pending sale of the only program. */
export function transactionOf(number: number): TransactionFacts {
  return {
    advertiserId: 1,
    programId: 11,
    programCountry: 'DE',
    siteId: 21,
    siteName: 'site.example',
    publisherId: 2,
    eventId: 111,
    eventTypeId: 5,
    orderNumber: `N-${number}`,
    orderValue: 129_900 + number,
    currencyId: 'EUR',
    publisherCommission: 9_743,
    tdCommission: 1_299,
    timeOfEvent: '2026-01-05T07:58:10.000Z',
    epi: 'spring',
    reportInfo: 'f1=lamp-7&f2=Wall%20lamp&f3=1299.00&f4=1',
  };
}

/** Such a sale as it is posted. */
export function postedTransaction(orderNumber: string, number: number) {
  const { programId, siteId, eventId, orderValue, tdCommission, timeOfEvent, epi, reportInfo } =
    transactionOf(number);
  const amounts = { orderValue: orderValue / 100, tdCommission: tdCommission / 100 };
  return { programId, siteId, eventId, orderNumber, ...amounts, timeOfEvent, epi, reportInfo };
}
