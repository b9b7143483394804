import { randomUUID } from 'node:crypto';
import { type Directory } from '../../src/network/directory';
import { execute } from '../../src/kernel/decider';
import { type Position, streamOf } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import {
  surroundingsOf,
  TRANSACTION,
  transactionDecider,
  type TransactionEvent,
} from '../../src/domain/transactions/transaction';
import { type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { legacyIdOf, transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';

/** A sale of the small network at site 52, which is connected to program 31. */
export function sale(order: Partial<TransactionFacts> = {}): TransactionFacts {
  return {
    advertiserId: 3,
    programId: 31,
    programCountry: 'NO',
    siteId: 52,
    siteName: 'Tarifkompass app',
    publisherId: 5,
    eventId: 311,
    eventTypeId: 5,
    orderNumber: randomUUID(),
    orderValue: 129_900,
    currencyId: 'NOK',
    publisherCommission: 9_743,
    tdCommission: 1_299,
    timeOfEvent: '2026-01-05T07:58:10.000Z',
    ...order,
  };
}

/** Reports a transaction at a time; returns its id. */
export async function report(
  log: EventLog,
  directory: Pick<Directory, 'programs'>,
  at: Date,
  transaction: TransactionFacts,
): Promise<string> {
  const id = transactionIdOf(legacyIdOf(transaction), transaction.programId);
  const surroundings = surroundingsOf(directory, transaction);
  const command = {
    do: 'report',
    at: at.toISOString(),
    transaction,
    posted: [],
    surroundings,
    terms: {},
  } as const;
  await execute(SYSTEM_CLOCK, log, transactionDecider, id, command);
  return id;
}

/** The events of a transaction in order. */
export async function eventsOfTransaction(log: EventLog, id: string): Promise<readonly TransactionEvent[]> {
  const events: TransactionEvent[] = [];
  for await (const batch of log.readStream(streamOf(TRANSACTION, id)))
    for (const { type, data } of batch) events.push({ type, data: JSON.parse(data) } as TransactionEvent);
  return events;
}

/** Reads the log until so many transactions have been approved after a position. */
export async function approved(
  log: EventLog,
  {
    after,
    count,
    signal,
  }: { readonly after: Position; readonly count: number; readonly signal?: AbortSignal },
): Promise<void> {
  let left = count;
  const options = { after, prefixes: [`${TRANSACTION}-`], ...(signal === undefined ? {} : { signal }) };
  for await (const { events } of log.subscribe(options)) {
    left -= events.filter(({ type }) => type === 'TransactionPendingApproved').length;
    if (left <= 0) return;
  }
  throw new Error(`${left} transactions were not approved in time`);
}
