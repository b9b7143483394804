import { type ParsedEvent } from '../src/kernel/decider';
import { numberOf } from '../src/kernel/event';
import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import {
  dueOf,
  type PositionedTransaction,
  storedAfter,
} from '../src/domain/transactions/stored-transaction';
import { stateIdOf } from '../src/domain/transactions/states';
import { STATE_OF, TRANSACTION, type TransactionEvent } from '../src/domain/transactions/transaction';
import { legacyIdOf } from '../src/domain/transactions/transaction-id';

const FIELDS = {
  transactionId: 'keyword',
  legacyTransactionId: 'keyword',
  advertiserId: 'keyword',
  programId: 'keyword',
  /** Who owned the site when it was reported. */
  publisherId: 'keyword',
  siteId: 'keyword',
  eventId: 'keyword',
  eventTypeId: 'keyword',
  messageTypeId: 'column',
  orderNumber: 'keyword',
  epi: 'keyword',
  currencyId: 'column',
  /** Integers (`wire/minor-units.ts`). */
  orderValue: 'number',
  publisherCommission: 'number',
  tdCommission: 'number',
  /** Epoch ms. */
  timeOfEvent: 'number',
  changed: 'number',
  /** Of the last event: lists are followed by it. */
  position: 'number',
  /** When the system ends the pending period (`dueOf`). */
  due: 'number',
  /** The program of a Paused transaction: the system validates it when the program is no longer paused. */
  pausedProgramId: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type TransactionField = keyof typeof FIELDS;

const TYPES = Object.keys(STATE_OF) as TransactionEvent['type'][];

/** All transactions (`docs/decisions.md#t6`), and what the system has to do with them (`docs/decisions.md#t4`). */
export const transactions: Projection<PositionedTransaction, TransactionEvent> = {
  collection: {
    name: 'transactions',
    version: 4,
    fields: FIELDS,
    sorts: ['timeOfEvent', 'changed', 'position', 'due', 'pausedProgramId'],
  },
  streams: [`${TRANSACTION}-`],
  handles: TYPES,
  replaces: TYPES.filter((type) => type !== 'TransactionAmended'),
  idOf: ({ stream }: ParsedEvent<TransactionEvent>) => stream.slice(TRANSACTION.length + 1),
  fold: (before, event) => ({
    ...storedAfter(before, event, event.revision),
    position: numberOf(event.position),
  }),
  describe: (document, id) => ({ document, fields: fieldsOf(document, id) }),
};

const PAUSED = stateIdOf('Paused');

function fieldsOf(stored: PositionedTransaction, id: string): Readonly<Record<string, FieldValue>> {
  const { transaction, messageTypeId, changed, position } = stored;
  const due = dueOf(stored);
  return {
    transactionId: id,
    legacyTransactionId: legacyIdOf(transaction),
    advertiserId: String(transaction.advertiserId),
    programId: String(transaction.programId),
    ...(transaction.publisherId === undefined ? {} : { publisherId: String(transaction.publisherId) }),
    siteId: String(transaction.siteId),
    eventId: String(transaction.eventId),
    eventTypeId: String(transaction.eventTypeId),
    messageTypeId: String(messageTypeId),
    orderNumber: transaction.orderNumber,
    epi: transaction.epi ?? [],
    currencyId: transaction.currencyId,
    orderValue: transaction.orderValue,
    publisherCommission: transaction.publisherCommission,
    tdCommission: transaction.tdCommission,
    timeOfEvent: Date.parse(transaction.timeOfEvent),
    changed,
    position,
    ...(due === undefined ? {} : { due }),
    ...(messageTypeId === PAUSED ? { pausedProgramId: transaction.programId } : {}),
  };
}
