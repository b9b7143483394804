import { streamOf } from '../../../src/kernel/event';
import { Matcher } from '../../../src/delivery/matching/matcher';
import { type Receiver } from '../../../src/domain/subscriptions/subscription';
import { STATES, type StateId } from '../../../src/domain/transactions/states';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import {
  TRANSACTION,
  type TransactionCommand,
  transactionDecider,
} from '../../../src/domain/transactions/transaction';
import { type TransactionFacts } from '../../../src/domain/transactions/transaction-facts';
import { MESSAGE_ATTRIBUTES } from '../../api/document-tables';
import { AT, FACTS, WAYS } from '../../domain/transactions/cases';
import { created, Recorded } from './recorded-events';

const ITEMS = 'f1=l-1&f2=Wall%20lamp&f3=60.00&f4=1|f1=l-2&f2=Bulb&f3=20.00&f4=2';
const FULL: TransactionFacts = {
  ...FACTS,
  ...{ adId: 7, locationId: 8, batchId: 9, epi: 'spring', epi2: 'two', mediaCost: 125, productId: '77' },
  ...{ reportInfo: ITEMS, visitorId: 'v-1', orderValue: 12_990 },
};
const STATE_IDS = Object.keys(STATES).map(Number) as readonly StateId[];
const TRANSACTION_ID = 'd0c5';

/** A body with each attribute as a value. */
const BODY = `{${MESSAGE_ATTRIBUTES.map((name) => `"${name}":\${${name}}`).join()}}`;

/** The values of a message about a transaction that has entered a state. */
function valuesIn(stateId: StateId): Readonly<Record<string, unknown>> {
  const [recorded, matcher] = [new Recorded(), new Matcher([transactionTopic])];
  const receiver: Receiver = {
    httpMethod: 'POST',
    receiverUrl: 'https://a.example/',
    receiverFormat: 'JSON',
    receiverBody: BODY,
  };
  const subscription = { filter: { stateIds: [stateId] }, receivers: [receiver] };
  matcher.apply(recorded.append('subscription-s', created(FULL.advertiserId, subscription, 'transactions')));
  let state = transactionDecider.initial;
  const bodies: string[] = [];
  for (const command of WAYS[STATES[stateId].name].map(withAll)) {
    for (const event of transactionDecider.decide(command, state)) {
      state = transactionDecider.evolve(state, event);
      for (const { type, data } of matcher.match(
        recorded.append(streamOf(TRANSACTION, TRANSACTION_ID), event),
      ))
        if (type === 'MessageDue') bodies.push(data.request?.body ?? '');
    }
  }
  expect(bodies).toHaveLength(1);
  return JSON.parse(bodies[0] ?? '') as Readonly<Record<string, unknown>>;
}

const withAll = (command: TransactionCommand): TransactionCommand =>
  command.do === 'report' ? { ...command, transaction: FULL } : command;

const values = new Map(STATE_IDS.map((stateId) => [stateId, valuesIn(stateId)]));

/** Each attribute: the states that have it, and its value in a state. */
const ATTRIBUTES: readonly (readonly [string, readonly number[], unknown])[] = [
  ['adId', STATE_IDS, 7],
  ['advertiserId', STATE_IDS, 1],
  ['autoApproveDate', [4, 6, 8], '2026-03-11T12:00:00.000Z'],
  ['autoDenyDate', [], null],
  ['batchId', STATE_IDS, 9],
  ['currencyId', STATE_IDS, 'EUR'],
  ['deniedReasonId', [6, 8], (state: number) => (state === 6 ? 21 : 22)],
  ['epi', STATE_IDS, 'spring'],
  ['epi2', STATE_IDS, 'two'],
  ['eventId', STATE_IDS, 301],
  ['eventTypeId', STATE_IDS, 5],
  ['locationId', STATE_IDS, 8],
  ['mediaCost', STATE_IDS, 1.25],
  ['messageTypeId', STATE_IDS, (state: number) => state],
  ['orderNumber', STATE_IDS, 'A-1'],
  ['orderValue', STATE_IDS, 129.9],
  ['paymentId', [9], 7],
  ['pendingStatusDateChanged', [6, 8], AT],
  ['productId', STATE_IDS, '77'],
  ['productName', STATE_IDS, 'Wall lamp|Bulb'],
  ['productNumber', STATE_IDS, 'l-1|l-2'],
  ['productQuantity', STATE_IDS, '1|2'],
  ['productValue', STATE_IDS, '60.00|20.00'],
  ['programCountry', STATE_IDS, 'DE'],
  ['programId', STATE_IDS, 101],
  ['publisherCommission', STATE_IDS, 6],
  ['tdCommission', STATE_IDS, 1],
  ['reportInfo', [1, 2, 3, 4, 5, 7, 9], ITEMS],
  ['sequenceNumber', STATE_IDS, (state: number) => (state === 1 ? '1' : state < 6 ? '2' : '3')],
  ['siteId', STATE_IDS, 1101],
  ['siteName', STATE_IDS, 'preisblick.example'],
  ['timeOfEvent', STATE_IDS, '2026-03-01T11:00:00.000Z'],
  ['timeOfVisit', STATE_IDS, '2026-03-01T10:00:00.000Z'],
  ['transactionId', [2, 3, 4, 5, 6, 7, 8, 9], TRANSACTION_ID],
  ['legacyTransactionId', STATE_IDS, 'A-1_301_1'],
  ['visitorId', [1, 2, 3, 4, 5, 7, 9], 'v-1'],
];

describe('attributes of messages, by the state entered (Document 2, Message attributes; decisions N2)', () => {
  it.each(ATTRIBUTES)('Document 2, Message attributes: %s in the states %j', (name, states, value) => {
    const valueIn = (state: number): unknown =>
      typeof value === 'function' ? (value as (state: number) => unknown)(state) : value;
    const expected = STATE_IDS.map((state) => [state, states.includes(state) ? valueIn(state) : null]);
    expect(STATE_IDS.map((state) => [state, values.get(state)?.[name]])).toEqual(expected);
  });

  it('are all that the document has, and no others', () => {
    expect(ATTRIBUTES.map(([name]) => name).toSorted()).toEqual(MESSAGE_ATTRIBUTES.toSorted());
    expect(transactionTopic.attributes.toSorted()).toEqual(MESSAGE_ATTRIBUTES.toSorted());
  });
});
