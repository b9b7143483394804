import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECTIONS } from '../projections';
import { periodsEndedBy, transactions } from '../projections/transactions';
import { type Engines, openEngines } from '../src/engines/open';
import { execute } from '../src/kernel/decider';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { inParallel } from '../src/runtime/concurrency';
import { waitForPosition } from '../src/projector/wait';
import { transactionDecider } from '../src/domain/transactions/transaction';
import { legacyIdOf, transactionIdOf } from '../src/domain/transactions/transaction-id';
import { type Bench, type Figure, timed } from './harness';
import { Server } from './server';
import { transactionOf } from './transactions';

/** Limit in seconds until all of 100,000 transactions have moved. */
const LIMIT = 30;
const IN_FLIGHT = 128;
const POLL_MS = 100;
const DAY = 86_400_000;

/**
 * Transactions whose pending periods have ended in one minute. Measures the seconds from the start of a server until
 * the read model has no such transaction any more.
 */
export async function transactionsDue(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'transactions-due');
  await mkdir(dataDir, { recursive: true });
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: true });
  try {
    await reportAll(engines, bench.count);
    const projecting = await Server.start(dataDir, 'api,projector');
    const isShown = await waitForPosition(
      SYSTEM_CLOCK,
      engines.store,
      PROJECTIONS,
      await engines.log.head(),
      600_000,
    );
    if (!isShown || (await countDue(engines)) !== bench.count) throw new Error('not all are due');
    await projecting.stop();
    let server: Server | undefined;
    const ms = await timed(async () => {
      server = await Server.start(dataDir, 'api,projector,automation');
      while ((await countDue(engines)) > 0) await pause(POLL_MS);
    });
    await server?.stop();
    const measured = ms / 1000;
    return [
      { figure: 'transactions-due', measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 's' },
    ];
  } finally {
    await engines.close();
  }
}

function countDue({ store }: Engines): Promise<number> {
  return store.count({ collection: transactions.collection.name }, periodsEndedBy(Date.now()));
}

/** Their periods of a day end in the minute before now. */
async function reportAll({ log }: Engines, count: number): Promise<void> {
  const start = Date.now() - DAY - 60_000;
  const surroundings = {
    program: 'active',
    invoicesPaid: false,
    isConnected: true,
    pendingDays: 1,
    autoDeny: false,
  } as const;
  await inParallel(Array.from({ length: count }).keys(), IN_FLIGHT, async (number) => {
    const transaction = transactionOf(number);
    const at = new Date(start + (number % 60_000)).toISOString();
    const id = transactionIdOf(legacyIdOf(transaction), transaction.programId);
    const report = { do: 'report', at, transaction, posted: [], surroundings, terms: {} } as const;
    await execute(SYSTEM_CLOCK, log, transactionDecider, id, report);
  });
}
