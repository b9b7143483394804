import { setImmediate as turn } from 'node:timers/promises';
import { type Engines, openEngines } from '../../../src/engines/open';
import { FeedHistory } from '../../support/feed-history';

/** Reads the new events of feed 22 in the log of a data folder. */
export async function readFeed(folder: string, history = new FeedHistory()): Promise<FeedHistory> {
  const engines = await open(folder);
  try {
    return await history.readNew(engines.log, 22);
  } finally {
    await engines.close();
  }
}

/**
 * Watches the log from now on. The returned function waits until more than `events` have been appended, or until
 * `ended` resolves.
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

/** The head of the log of a data folder. */
export async function headOf(folder: string): Promise<string> {
  const engines = await open(folder);
  return engines.log.head().finally(() => engines.close());
}

async function open(folder: string): Promise<Engines> {
  return openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
}
