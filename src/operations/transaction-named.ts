import { FollowedDirectory } from '../network/follower';
import { type Programs } from '../network/programs';
import { type EventLog } from '../kernel/event-log';
import { onlyOne, transactionsWith } from '../domain/transactions/find-transaction';
import { idsWith, TRANSACTION_ID } from '../domain/transactions/transaction-id';

/** The ids of all transactions that an id can name, either a `transactionId` or a `legacyTransactionId`. */
export async function transactionIdsOf(log: EventLog, id: string): Promise<readonly string[]> {
  return TRANSACTION_ID.test(id) ? [id] : await withPrograms(log, async (programs) => idsWith(id, programs));
}

/** The id of the only transaction that an id names; undefined without any. Raises a fault that names all if there are several. */
export async function transactionNamed(log: EventLog, id: string): Promise<string | undefined> {
  if (TRANSACTION_ID.test(id)) return id;
  const found = await withPrograms(log, (programs) => transactionsWith(log, programs, id));
  return onlyOne(id, found)?.transactionId;
}

/** With the programs as of the end of the log. */
async function withPrograms<Result>(
  log: EventLog,
  use: (programs: Programs) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const follower = new FollowedDirectory(log, ending.signal);
  try {
    await follower.ready;
    return await use(follower.directory.programs);
  } finally {
    ending.abort();
    await follower.ended;
  }
}
