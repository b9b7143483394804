import { legacyIdOf } from '../src/domain/transactions/transaction-id';
import { type TransactionFacts } from '../src/domain/transactions/transaction-facts';
import { CONVERSION_TOKENS } from './network';
import { type Server } from './server';

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

const PATH = '/1.0/conversions/transactions';
const TOKEN = CONVERSION_TOKENS.advertiser;

/** Items of a post, the most that one takes. */
const PER_POST = 10_000;

/** Reports new transactions; those of another round have other order numbers. */
export async function reportTransactions(server: Server, round: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += PER_POST) {
    const posted = Array.from({ length: Math.min(PER_POST, count - first) }, (_, at) =>
      postedTransaction(`R${round}-${first + at}`, first + at),
    );
    await server.postJson(`${PATH}/bulk?token=${TOKEN}`, posted);
  }
}

/** Approves nine of ten transactions that were reported in a round, and denies the others. */
export async function decideTransactions(server: Server, round: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += PER_POST) {
    const posted = Array.from({ length: Math.min(PER_POST, count - first) }, (_, at) => {
      const number = first + at;
      const facts = { ...transactionOf(number), orderNumber: `R${round}-${number}` };
      return { legacyTransactionId: legacyIdOf(facts), action: number % 10 === 0 ? 'deny' : 'approve' };
    });
    await server.postJson(`${PATH}/transitions/bulk?token=${TOKEN}`, posted);
  }
}
