import { type RecordedEvent, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { TRANSACTION } from './transaction';
import { type StoredFacts } from './transaction-facts';
import { formerIdOf, legacyIdOf, transactionIdOf } from './transaction-id';

/**
 * Whether a log may have transactions that were stored when ids did not have the program (`docs/decisions.md#t1`).
 *
 * All of them precede the others, since no process of the earlier version runs any more (docs/operations.md, Upgrading). So the
 * first transaction of the log tells, and the answer never changes: the log is only appended to, and a copy has the same order.
 * While there is no transaction yet, or the first one is still being looked for, the answer is true. Events of another program
 * that has written to such streams do not count.
 */
export function mayHaveFormerIds(log: EventLog): boolean {
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
