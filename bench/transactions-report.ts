import { join } from 'node:path';
import { TRANSACTION } from '../src/transactions/transaction';
import { BareLog, streamsIn } from './bare/log';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { CONVERSION_TOKENS } from './network';
import { Server } from './server';
import { postedTransaction } from './transactions';

/** Transactions of a post, the most that one takes. */
const PER_POST = 10_000;

/** Appends that the server commits together. */
const TOGETHER = 256;

/**
 * Reports new transactions, each in a stream of its own, in posts of 10,000.
 *
 * Ours: over HTTP, from the first post to the last answer; all are durable when they are answered.
 * Bare: the same events into as many streams, those of 256 streams in one transaction, as the server commits them.
 */
export async function transactionsReport(bench: Bench): Promise<readonly Figure[]> {
  const { count } = bench;
  const server = await Server.start(join(bench.folder, 'transactions-report'), 'api,projector');
  try {
    const figure = await compareRates(
      { figure: 'transactions-report', goal: 0.5, count },
      (round) => timed(() => reportAll(server, round, count)),
      (round) => appendSame(server, join(bench.folder, `transactions-report-${round}.sqlite`), count),
    );
    return [{ ...figure, unit: 'transactions/s' }];
  } finally {
    await server.stop();
  }
}

async function reportAll(server: Server, round: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += PER_POST) {
    const posted = Array.from({ length: Math.min(PER_POST, count - first) }, (_, at) =>
      postedTransaction(`R${round}-${first + at}`, first + at),
    );
    await server.postJson(`/1.0/conversions/transactions/bulk?token=${CONVERSION_TOKENS.advertiser}`, posted);
  }
}

/** Appends what the server has appended in the last round to a log of its own. */
async function appendSame(server: Server, file: string, count: number): Promise<number> {
  const streams = [...streamsIn(server.logFile, TRANSACTION)].slice(-count);
  if (streams.length !== count) throw new Error(`${streams.length} of ${count} were reported`);
  const log = new BareLog(file);
  try {
    return await timed(() => {
      for (let at = 0; at < count; at += TOGETHER) log.appendTogether(streams.slice(at, at + TOGETHER));
    });
  } finally {
    log.close();
  }
}
