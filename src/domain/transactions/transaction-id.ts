import { hash } from 'node:crypto';
import { eventAt, load, type StateAt, toDomainEvent } from '../../kernel/decider';
import { NO_STREAM, type RecordedEvent, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Programs } from '../../network/programs';
import { inParallel } from '../../runtime/concurrency';
import { conversionFaults as fault } from '../subscriptions/faults';
import { TRANSACTION, transactionDecider, type TransactionEvent, type TransactionState } from './transaction';
import { type StoredFacts, type TransactionFacts } from './transaction-facts';

type TransactionKey = Pick<TransactionFacts, 'orderNumber' | 'eventId' | 'advertiserId' | 'claimId'>;

/** Order number, event id and advertiser id (Document 2, Message attributes; `docs/decisions.md#c10`). */
export function legacyIdOf({ orderNumber, eventId, advertiserId, claimId }: TransactionKey): string {
  const legacyId = `${orderNumber}_${eventId}_${advertiserId}`;
  return claimId === undefined ? legacyId : `${legacyId}_claim${claimId}`;
}

/** The id of a program’s transaction, and of its stream (`docs/decisions.md#t1`): 32 hexadecimal digits. */
export function transactionIdOf(legacyId: string, programId: number): string {
  return digest(`${legacyId}_program${programId}`);
}

/** The id of a transaction that was stored when ids did not have the program yet. */
export function formerIdOf(legacyId: string): string {
  return digest(legacyId);
}

export const TRANSACTION_ID = /^[0-9a-f]{32}$/;

const LEGACY_ID = /_(?<eventId>\d{1,16})_(?<advertiserId>\d{1,16})(_claim\d+)?$/;

/**
 * All ids that a transaction with a legacy id can have: one for each program that the advertiser ever had the event in.
 */
export function idsWith(legacyId: string, programs: Pick<Programs, 'everWithEvent'>): readonly string[] {
  const { eventId, advertiserId } = LEGACY_ID.exec(legacyId)?.groups ?? {};
  const programIds = programs.everWithEvent(Number(advertiserId), Number(eventId));
  return [formerIdOf(legacyId), ...[...programIds].map((id) => transactionIdOf(legacyId, id))];
}

function digest(text: string): string {
  return hash('sha256', text).slice(0, 32);
}

/** The transaction that a report is about, with what is known of it before its stream is read. */
interface Reported {
  readonly transactionId: string;
  readonly known: StateAt<TransactionState>;
}

/** Most reports are new ones: a repeated one is loaded after the conflict. */
const UNKNOWN: StateAt<TransactionState> = { state: transactionDecider.initial, revision: NO_STREAM };

/**
 * Where a report belongs (`docs/decisions.md#t1`): a transaction of the same program that was stored when ids did not
 * have the program keeps its id. This version creates no stream with such an id, so nothing changes between this and
 * the append.
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
export interface NamedTransaction {
  readonly transactionId: string;
  readonly advertiserId: number;
}

/** The transactions with a legacy id: several if programs of an advertiser share an event and an order number. */
export async function transactionsWith(
  log: EventLog,
  programs: Pick<Programs, 'everWithEvent'>,
  legacyId: string,
): Promise<readonly NamedTransaction[]> {
  const named = await inParallel(idsWith(legacyId, programs), AT_ONCE, async (transactionId) => {
    const first = await eventAt(log, streamOf(TRANSACTION, transactionId), 0);
    if (first === undefined) return [];
    const { data } = toDomainEvent(first) as TransactionEvent;
    return [{ transactionId, advertiserId: data.transaction.advertiserId }];
  });
  return named.flat();
}

/** The only transaction with a legacy id, undefined without any; raises CON_550 for several, naming them. */
export function onlyOne<Transaction extends { readonly transactionId: string }>(
  legacyId: string,
  found: readonly Transaction[],
): Transaction | undefined {
  if (found.length <= 1) return found[0];
  const ids = found.map(({ transactionId }) => transactionId).sort();
  throw fault.ambiguous(
    `${legacyId} names ${found.length} transactions, of different programs: expected one of the transactionIds ` +
      ids.join(', '),
  );
}

/**
 * Whether a log may have transactions that were stored when ids did not have the program (`docs/decisions.md#t1`).
 *
 * All of them precede the others, since no process of the earlier version runs any more (docs/operations.md,
 * Upgrading). So the first transaction of the log tells, and the answer never changes: the log is only appended to, and
 * a copy has the same order. While there is no transaction yet, or the first one is still being looked for, the answer
 * is true. Events of another program that has written to such streams do not count.
 */
function mayHaveFormerIds(log: EventLog): boolean {
  const search = searches.get(log) ?? new FirstTransaction(log);
  searches.set(log, search);
  return search.mayHaveFormerId();
}

const searches = new WeakMap<EventLog, FirstTransaction>();

/** Events per batch: usually the first one has the answer. */
const BATCH = 10;

/** Looks for the first transaction of a log, in the background: many other events may precede it. */
class FirstTransaction {
  private hasFormerId: boolean | undefined;
  /** Nothing was found up to here. */
  private searched = START;
  private isSearching = false;

  constructor(private readonly log: EventLog) {}

  mayHaveFormerId(): boolean {
    // A failure leaves the answer open: the report that asks meets it too, and the next one searches on.
    if (this.hasFormerId === undefined && !this.isSearching) this.search().catch(() => undefined);
    return this.hasFormerId ?? true;
  }

  private async search(): Promise<void> {
    this.isSearching = true;
    try {
      const options = { after: this.searched, prefixes: [streamOf(TRANSACTION, '')], batchSize: BATCH };
      for await (const { events, position } of this.log.readAll(options)) {
        this.hasFormerId = events.map(hasFormerId).find((answer) => answer !== undefined);
        if (this.hasFormerId !== undefined) return;
        this.searched = position;
      }
    } finally {
      this.isSearching = false;
    }
  }
}

/** Whether the id of a transaction is a former one; undefined if the event is not that of a transaction. */
function hasFormerId({ stream, data }: RecordedEvent): boolean | undefined {
  try {
    const { transaction } = JSON.parse(data) as StoredFacts;
    const legacyId = legacyIdOf(transaction);
    if (stream === streamOf(TRANSACTION, formerIdOf(legacyId))) return true;
    if (stream === streamOf(TRANSACTION, transactionIdOf(legacyId, transaction.programId))) return false;
  } catch {
    // Another program wrote it.
  }
  return undefined;
}
