import { join } from 'node:path';
import { TRANSACTION } from '../src/domain/transactions/transaction';
import { appendStreams, streamsIn } from './bare/log';
import { type Bench, compareRates, type Figure, quantile, timed } from './harness';
import { Server } from './server';
import { reportTransactions } from './transactions';

/** Appends in a transaction of the second reference, as many as the server has in progress. */
const TOGETHER = 256;

/**
 * Reports new transactions, each in a stream of its own, in posts of 10,000.
 *
 * Ours: over HTTP, from the first post to the last answer; all are durable when they are answered.
 * Bare: the same events into as many streams, each append durable before the next one.
 * Bare, grouped: the same, with 256 appends in one transaction: what SQLite alone can do, without reading, checking,
 * deciding and answering.
 */
export async function transactionsReport(bench: Bench): Promise<readonly Figure[]> {
  const { count } = bench;
  const server = await Server.start(join(bench.folder, 'transactions-report'), 'api,projector');
  const fileOf = (name: string, round: number): string =>
    join(bench.folder, `reports-${name}-${round}.sqlite`);
  const grouped: number[] = [];
  try {
    const figure = await compareRates(
      { figure: 'transactions-report', goal: 0.5, count },
      (round) => timed(() => reportTransactions(server, round, count)),
      async (round) => {
        const streams = [...streamsIn(server.logFile, TRANSACTION)].slice(-count);
        if (streams.length !== count) throw new Error(`${streams.length} of ${count} were reported`);
        grouped.push(appendStreams(fileOf('grouped', round), streams, TOGETHER));
        return appendStreams(fileOf('single', round), streams, 1);
      },
    );
    const limit = (count / quantile(grouped, 0.5)) * 1000;
    const { measured } = figure;
    return [
      { ...figure, unit: UNIT },
      {
        figure: 'transactions-report grouped',
        measured,
        limit,
        ratio: measured / limit,
        goal: null,
        unit: UNIT,
      },
    ];
  } finally {
    await server.stop();
  }
}

const UNIT = 'transactions/s';
