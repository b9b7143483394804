import { conversionFaults as fault } from '../conversion-faults';
import { type Programs } from '../../network/programs';
import { load, type StateAt, toDomainEvent } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { inParallel } from '../../runtime/in-parallel';
import { TRANSACTION, transactionDecider, type TransactionEvent, type TransactionState } from './transaction';
import { type TransactionFacts } from './transaction-facts';
import { mayHaveFormerIds } from './former-ids';
import { formerIdOf, idsWith, legacyIdOf, transactionIdOf } from './transaction-id';

/** The transaction that a report is about, with what is known of it before its stream is read. */
export interface Reported {
  readonly transactionId: string;
  readonly known: StateAt<TransactionState>;
}

/** Most reports are new ones: a repeated one is loaded after the conflict. */
const UNKNOWN: StateAt<TransactionState> = { state: transactionDecider.initial, revision: NO_STREAM };

/**
 * Where a report belongs (`docs/decisions.md#t1`): a transaction of the same program that was stored when ids did not have the
 * program keeps its id. This version creates no stream with such an id, so nothing changes between this and the append.
 */
export async function reportedTransaction(log: EventLog, facts: TransactionFacts): Promise<Reported> {
  const legacyId = legacyIdOf(facts);
  if (mayHaveFormerIds(log)) {
    const transactionId = formerIdOf(legacyId);
    const known = await load(log, transactionDecider, transactionId);
    const { state } = known;
    if (state.name !== 'Unknown' && state.reported.programId === facts.programId)
      return { transactionId, known };
  }
  return { transactionId: transactionIdOf(legacyId, facts.programId), known: UNKNOWN };
}

/** Streams that are read at a time for one legacy id: many programs may have its event. */
const AT_ONCE = 4;

/** A transaction by its legacy id. A list may name thousands: no more of them is kept. */
export interface Named {
  readonly transactionId: string;
  readonly advertiserId: number;
}

/** The transactions with a legacy id: several if programs of an advertiser share an event and an order number. */
export async function transactionsWith(
  log: EventLog,
  programs: Pick<Programs, 'everWithEvent'>,
  legacyId: string,
): Promise<readonly Named[]> {
  const named: Named[] = [];
  await inParallel(idsWith(legacyId, programs), AT_ONCE, async (transactionId) => {
    const first = await firstEvent(log, transactionId);
    if (first !== undefined) named.push({ transactionId, advertiserId: first.data.transaction.advertiserId });
  });
  return named;
}

async function firstEvent(log: EventLog, transactionId: string): Promise<TransactionEvent | undefined> {
  for await (const [first] of log.readStream(streamOf(TRANSACTION, transactionId), { limit: 1 }))
    if (first !== undefined) return toDomainEvent(first) as TransactionEvent;
  return undefined;
}

/** The only transaction with a legacy id, undefined without any; raises CON_550 for several, naming them. */
export function onlyOne<Transaction extends { readonly transactionId: string }>(
  legacyId: string,
  found: readonly Transaction[],
): Transaction | undefined {
  if (found.length <= 1) return found[0];
  const ids = found.map(({ transactionId }) => transactionId).sort();
  throw fault.ambiguous(
    `${legacyId} names ${found.length} transactions, of different programs: expected one of the transactionIds ${ids.join(', ')}`,
  );
}
