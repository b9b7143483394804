import { join } from 'node:path';
import { directoryAt } from '../network/directory';
import { type Engines } from '../engines/open';
import { type Clock } from '../runtime/clock';
import { feedLeases, FingerprintCache } from '../services/products/load/fingerprint-cache';
import { LoadHistory, type Restored, restoreLoad, type Undo } from '../services/products/load/restore';
import { UsageError } from './command-error';

export interface LoadOfFeed {
  readonly feedId: number;
  /** As `X-Load-Id` and the load report have it. */
  readonly loadId: string;
}

/** What a load has changed and what has changed since, read from the log. Raises `UsageError`. */
export async function loadHistory(
  clock: Clock,
  { log }: Pick<Engines, 'log'>,
  load: LoadOfFeed,
): Promise<LoadHistory> {
  const { feedId, loadId } = load;
  const directory = await directoryAt(log);
  if (directory.feed(feedId) === undefined) throw new UsageError(`${feedId}: expected the id of a feed`);
  const history = new LoadHistory(clock, log, feedId, loadId, (position) =>
    directory.currencies.ofFeed(feedId, position),
  );
  await history.catchUp();
  if (history.found !== undefined) return history;
  const last = history.last.map(({ importId = 'without an id', at, what }) => `${importId} (${what}, ${at})`);
  throw new UsageError(
    `--before ${loadId}: expected the id of a load of feed ${feedId}; ` +
      (last.length === 0 ? 'it has none' : `the last are ${last.join(', ')}`),
  );
}

/** Products that are named; more are counted. */
const NAMED = 20;

/** What undoing a load changes (`docs/decisions.md#x89`). */
export interface UndoPlan {
  readonly loadId: string;
  readonly at: string;
  readonly what: string;
  readonly new: number;
  readonly revised: number;
  readonly repriced: number;
  readonly removed: number;
  /** The first of them. */
  readonly products: readonly { readonly sourceProductId: string; readonly change: Undo['difference'] }[];
  /** How many have changed since by later loads, which are left alone, and the first of them. */
  readonly changedAgain: number;
  readonly leftAlone: readonly string[];
}

export function undoPlan(history: LoadHistory): UndoPlan {
  const { importId = '', at = '', what = '' } = history.found ?? {};
  const counts = { new: 0, revised: 0, repriced: 0, removed: 0 };
  const products: { sourceProductId: string; change: Undo['difference'] }[] = [];
  for (const { difference, sourceProductId } of history.undos()) {
    counts[difference] += 1;
    if (products.length < NAMED) products.push({ sourceProductId, change: difference });
  }
  let changedAgain = 0;
  const leftAlone: string[] = [];
  for (const { sourceProductId } of history.changedAgain())
    if ((changedAgain += 1) <= NAMED) leftAlone.push(sourceProductId);
  return { loadId: importId, at, what, ...counts, products, changedAgain, leftAlone };
}

/**
 * Undoes a load while servers run (`docs/adr/0021-restoring-appends-what-was-before.md`). Holds the lease of the feed,
 * so that servers over shared engines wait; the embedded engine has none, and conflicting appends are decided again.
 */
export async function undoLoad(
  { log, leases }: Pick<Engines, 'log' | 'leases'>,
  { feedId }: LoadOfFeed,
  history: LoadHistory,
  options: { readonly clock: Clock; readonly dataDir: string | undefined; readonly signal: AbortSignal },
): Promise<Restored> {
  const { clock, dataDir, signal } = options;
  const folder = dataDir === undefined ? undefined : join(dataDir, 'cache');
  const fingerprints = new FingerprintCache(clock, log, folder, {
    feedLock: feedLeases(clock, leases),
    currencyAt: () => history.currencyAt,
  });
  try {
    return await fingerprints.use(feedId, (state) =>
      restoreLoad(state, { clock, log, feedId, history, signal }),
    );
  } finally {
    await fingerprints.close();
  }
}
