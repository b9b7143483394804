import { join } from 'node:path';
import { directoryAt } from '../network/directory';
import { type Engines } from '../engines/open';
import { FEED } from '../domain/products/feed';
import { lastEvent } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type Clock } from '../runtime/clock';
import { feedLeases, FingerprintCache } from '../services/products/load/fingerprint-cache';
import { LoadHistory, type Restored, restoreLoad, type Undo } from '../services/products/load/restore';
import { NothingThere, UsageError } from './command-error';

export interface LoadOfFeed {
  readonly feedId: number;
  /** As `X-Load-Id` and the load report have it. */
  readonly loadId: string;
}

interface Reading {
  readonly signal?: AbortSignal;
  /** Raises `UsageError` if the feed has more events. */
  readonly most?: number;
}

/** What a load has changed and what has changed since, read from the log. Raises `NothingThere`. */
export async function loadHistory(
  clock: Clock,
  { log }: Pick<Engines, 'log'>,
  load: LoadOfFeed,
  { signal, most = Infinity }: Reading = {},
): Promise<LoadHistory> {
  const { feedId, loadId } = load;
  const directory = await directoryAt(log);
  if (directory.feed(feedId) === undefined) throw new NothingThere(`${feedId}: expected the id of a feed`);
  const { revision = 0 } = (await lastEvent(log, streamOf(FEED, feedId))) ?? {};
  if (revision >= most)
    throw new UsageError(
      `feed ${feedId} has more than ${most} events: run \`affilog feeds restore ${feedId} --before ${loadId} --dry-run\``,
    );
  const history = new LoadHistory(clock, log, feedId, loadId, (position) =>
    directory.currencies.ofFeed(feedId, position),
  );
  await history.catchUp(signal);
  if (history.found !== undefined) return history;
  const last = history.last.map(({ importId = 'without an id', at, what }) => `${importId} (${what}, ${at})`);
  throw new NothingThere(
    `--before ${loadId}: expected the id of a load of feed ${feedId}; ` +
      (last.length === 0 ? 'it has none' : `the last are ${last.join(', ')}`),
  );
}

/** Products that are named; more are counted. */
const NAMED = 20;
/** Products that are looked at without a pause. */
const AT_ONCE = 1000;

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

export async function undoPlan(clock: Clock, history: LoadHistory, signal?: AbortSignal): Promise<UndoPlan> {
  const { importId = '', at = '', what = '' } = history.found ?? {};
  const counts = { new: 0, revised: 0, repriced: 0, removed: 0 };
  const products: { sourceProductId: string; change: Undo['difference'] }[] = [];
  let [looked, changedAgain] = [0, 0];
  const leftAlone: string[] = [];
  for (const { difference, sourceProductId, product } of history.differences()) {
    if ((looked += 1) % AT_ONCE === 0) await clock.yield();
    signal?.throwIfAborted();
    if (history.hasChangedSince(product)) {
      if ((changedAgain += 1) <= NAMED) leftAlone.push(sourceProductId);
      continue;
    }
    counts[difference] += 1;
    if (products.length < NAMED) products.push({ sourceProductId, change: difference });
  }
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
    return await fingerprints.use(feedId, (ofFeed) =>
      restoreLoad(ofFeed, { clock, log, feedId, history, signal }),
    );
  } finally {
    await fingerprints.close();
  }
}
