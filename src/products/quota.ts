import { type Decider } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { httpFaults } from '../wire/http-faults';

/**
 * How often an organisation has downloaded a feed: one stream each, `download-22-7`.
 *
 * The names and shapes of these events are the storage format: add, never rename. Each says what has come together so
 * far, so that the first and the last one of a stream say all, however many lie between.
 */
export interface FeedDownloaded {
  readonly type: 'FeedDownloaded';
  readonly data: {
    readonly feedId: number;
    readonly organisationId: number;
    /** The version of the feed (`FeedVersion`). */
    readonly version: Position;
    readonly at: string;
    /** When the last downloads of this version began, this one too: oldest first, as many as are allowed at most. */
    readonly begun: readonly string[];
    /** Pages sent of the present download, as runs: first and last page; none if it was sent as a whole. */
    readonly pages: readonly Run[];
  };
}

type Run = readonly [first: number, last: number];

interface Downloads {
  /** When the organisation downloaded the feed for the first time. */
  readonly first?: string;
  readonly last?: FeedDownloaded['data'];
}

/** A version of a feed, or a page of it, is going to be sent to an organisation. */
export interface CountedDownload {
  readonly feedId: number;
  readonly organisationId: number;
  readonly version: Position;
  readonly page?: number;
  readonly at: string;
  /** Where the log ends. */
  readonly head: Position;
}

const HOUR_MS = 3_600_000;

/** Document 1, Limits: downloads of a version within so long; how long after the first one there is no limit. */
const LIMIT = { downloads: 3, within: 24 * HOUR_MS } as const;
const GRACE_MS = 5 * 24 * HOUR_MS;

/** Runs of pages that are remembered; pages in no order at all become downloads of their own (`docs/decisions.md#x50`). */
const MOST_RUNS = 1000;

/** Document 1, Limits; `docs/decisions.md#p18`. Raises 429. */
export const quota: Decider<CountedDownload, Downloads, FeedDownloaded> = {
  category: 'download',
  readsEndsOnly: true,
  initial: {},
  decide({ page, head, ...download }, { first, last }) {
    // A process that is behind counts for the version that another has sent already; a moved log has other positions.
    const isBehind = last !== undefined && last.version > download.version && last.version <= head;
    const version = isBehind ? last.version : download.version;
    const present = last?.version === version ? last : undefined;
    const further = present && page !== undefined ? withPage(present.pages, page) : undefined;
    if (present !== undefined && further !== undefined)
      return [downloaded({ ...download, version, begun: present.begun, pages: further })];
    const now = Date.parse(download.at);
    const recent = (present?.begun ?? []).filter((at) => now - Date.parse(at) < LIMIT.within);
    const isGrace = first === undefined || now - Date.parse(first) < GRACE_MS;
    const [oldest] = recent;
    if (!isGrace && oldest !== undefined && recent.length >= LIMIT.downloads) {
      const retryAfter = Math.ceil((Date.parse(oldest) + LIMIT.within - now) / 1000);
      throw httpFaults.quotaExceeded(
        `the request quota is exceeded because the feed has not been updated recently: each version may be downloaded ${LIMIT.downloads} times within 24 hours`,
        { retryAfter },
      );
    }
    const begun = [...recent, download.at].slice(-LIMIT.downloads);
    return [downloaded({ ...download, version, begun, pages: page === undefined ? [] : [[page, page]] })];
  },
  evolve: ({ first }, { data }) => ({ first: first ?? data.at, last: data }),
};

/** What the downloads of a feed by an organisation are known by. */
export function quotaId({
  feedId,
  organisationId,
}: Pick<CountedDownload, 'feedId' | 'organisationId'>): string {
  return `${feedId}-${organisationId}`;
}

function downloaded(data: FeedDownloaded['data']): FeedDownloaded {
  return { type: 'FeedDownloaded', data };
}

/** The pages of a download with one more; undefined if that is none of it. */
function withPage(pages: readonly Run[], page: number): readonly Run[] | undefined {
  if (pages.length === 0 || pages.some(([first, last]) => first <= page && page <= last)) return undefined;
  const before = pages.find(([, last]) => last === page - 1);
  const after = pages.find(([first]) => first === page + 1);
  const others = pages.filter((run) => run !== before && run !== after);
  if (others.length >= MOST_RUNS) return undefined;
  const run: Run = [before?.[0] ?? page, after?.[1] ?? page];
  return [...others, run].sort(([a], [b]) => a - b);
}
