import { stat } from 'node:fs/promises';
import { FollowedDirectory } from '../network/follower';
import { Clock } from '../http/clock';
import { VisibleWrites } from '../http/visible-writes';
import { WaitForReadModels } from '../http/wait-for-read-models';
import { type EventLog } from '../kernel/event-log';
import { type Progress, ProgressMeter } from '../projector/progress-meter';
import {
  ReportTransactions,
  ReportTransactionsHandler,
  type Results,
  Transactions,
} from '../services/transactions/commands';
import { MOST } from '../domain/transactions/fields';
import { type ReportLine, reportLines } from './report-lines';

/** `events` are lines. */
export interface ImportProgress extends Progress {
  readonly phase: 'import';
}

export interface ImportOptions {
  /** Called with the line and the cause, in the order of the lines. */
  readonly onRefused: (line: number, message: string) => void;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Stops between two batches. A further import of the file continues. */
  readonly signal?: AbortSignal;
  /** Epoch ms. */
  readonly now?: () => number;
}

/** Numbers of transactions; `known` ones had been reported before. */
export interface Imported {
  readonly created: number;
  readonly known: number;
  readonly refused: number;
}

/**
 * Reports the transactions of a file (`reportLines`) as an operator does. Reports that are repeated do nothing
 * (`docs/decisions.md#t2`), so a file can be imported again. Raises what reading the file raises, and `EngineUnavailable`.
 */
export async function importTransactions(
  log: EventLog,
  path: string,
  { onRefused, onProgress, signal, now = Date.now }: ImportOptions,
): Promise<Imported> {
  const ending = new AbortController();
  const follower = new FollowedDirectory(log, ending.signal);
  try {
    await follower.ready;
    const handler = handlerOver(log, follower);
    const { size } = await stat(path);
    const meter = new ProgressMeter(now);
    const counts = { created: 0, known: 0, refused: 0 };
    let read = 0;
    for await (const batch of batchesOf(reportLines(path, (bytes) => (read = bytes)))) {
      signal?.throwIfAborted();
      for (const outcome of await report(handler, batch)) {
        counts[outcome.is] += 1;
        for (const message of outcome.messages) onRefused(outcome.line, message);
      }
      meter.count(batch.length);
      onProgress?.({ phase: 'import', ...meter.at(size === 0 ? 1 : read / size) });
    }
    return counts;
  } finally {
    ending.abort();
    await follower.ended;
  }
}

function handlerOver(log: EventLog, follower: FollowedDirectory): ReportTransactionsHandler {
  // Nobody waits for the read models.
  const visible = new VisibleWrites(log, new WaitForReadModels(async () => true));
  return new ReportTransactionsHandler(new Transactions(log, visible), follower, new Clock());
}

async function* batchesOf(lines: AsyncIterable<ReportLine>): AsyncGenerator<readonly ReportLine[]> {
  let batch: ReportLine[] = [];
  for await (const line of lines) {
    batch.push(line);
    if (batch.length < MOST) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface Outcome {
  readonly line: number;
  readonly is: keyof Imported;
  /** Why it was refused. */
  readonly messages: readonly string[];
}

const OPERATOR = { kind: 'operator', organisationId: 0 } as const;

/** Reports those lines of a batch that could be read. */
async function report(
  handler: ReportTransactionsHandler,
  batch: readonly ReportLine[],
): Promise<readonly Outcome[]> {
  const posted = batch.flatMap((line) => ('posted' in line ? [line.posted] : []));
  const { results } = await handler.execute(new ReportTransactions(posted, OPERATOR));
  const next = results[Symbol.iterator]();
  return batch.map((read) => {
    const { line } = read;
    if ('problem' in read) return { line, is: 'refused', messages: [read.problem] };
    return { line, ...outcomeOf(next.next().value) };
  });
}

function outcomeOf(result: Results['results'][number] | undefined): Omit<Outcome, 'line'> {
  if (result === undefined) throw new Error('each item has a result');
  if ('faults' in result)
    return { is: 'refused', messages: result.faults.map(({ code, message }) => `${code} ${message}`) };
  return { is: result.outcome === 'created' ? 'created' : 'known', messages: [] };
}
