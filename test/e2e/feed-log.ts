import { setImmediate as turn } from 'node:timers/promises';
import { type Engines, openEngines } from '../../src/engines/open';
import { FeedHistory } from '../support/feed-history';

/** What the stream of feed 22 tells, in the log of a data folder; what has been read of it before need not be again. */
export async function readFeed(folder: string, told = new FeedHistory()): Promise<FeedHistory> {
  const engines = await open(folder);
  try {
    return await told.readNew(engines.log, 22);
  } finally {
    await engines.close();
  }
}

/**
 * Watches the log from now on: what it gives waits until more events than this have been appended, or until it is told
 * that there will be no more.
 */
export async function growthOf(
  folder: string,
): Promise<(events: number, ended?: Promise<unknown>) => Promise<void>> {
  const engines = await open(folder);
  const from = Number(await engines.log.head());
  return async (events, ended) => {
    const end = new AbortController();
    void ended?.then(() => end.abort());
    while (!end.signal.aborted && Number(await engines.log.head()) - from <= events) await turn();
    await engines.close();
  };
}

/** How far the log of a data folder has come. */
export async function headOf(folder: string): Promise<string> {
  const engines = await open(folder);
  return engines.log.head().finally(() => engines.close());
}

async function open(folder: string): Promise<Engines> {
  return openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
}
