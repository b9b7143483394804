import { type Decider } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { httpFaults } from '../../wire/api/errors';

/**
 * How often an organisation has downloaded a feed: one stream each, `download-22-7`.
 *
 * The names and shapes of these events are the storage format: add, never rename. Each includes the totals so
 * far, so the first and the last event of a stream are enough.
 */
export interface FeedDownloaded {
  readonly type: 'FeedDownloaded';
  readonly data: {
    readonly feedId: number;
    readonly organisationId: number;
    /** The version of the feed (`FeedVersion`). */
    readonly version: Position;
    readonly at: string;
    /**
     * Start times of the last downloads of this version, including this one, oldest first: at most as many as are
     * allowed.
     */
    readonly begun: readonly string[];
    /** Pages sent of the current download, as runs: first and last page; empty if the whole feed was sent. */
    readonly pages: readonly Run[];
  };
}

type Run = readonly [first: number, last: number];

interface FeedDownloads {
  /** When the organisation downloaded the feed for the first time. */
  readonly first?: string;
  readonly last?: FeedDownloaded['data'];
}

/** A version of a feed, or a page of it, that is about to be sent to an organisation. */
export interface CountedDownload extends Pick<
  FeedDownloaded['data'],
  'feedId' | 'organisationId' | 'version' | 'at'
> {
  readonly page?: number;
  /** The position of the last download's event; `START` if there is none. */
  readonly recordedAt: Position;
}

const HOUR_MS = 3_600_000;

/** Document 1, Limits: downloads of a version per period; the grace period after the first download. */
const LIMIT = { downloads: 3, within: 24 * HOUR_MS } as const;
const GRACE_MS = 5 * 24 * HOUR_MS;

/** Runs of pages that are remembered; beyond that, pages count as separate downloads (`docs/decisions.md#x50`). */
const MOST_RUNS = 1000;

/** Document 1, Limits; `docs/decisions.md#p18`. Raises 429. */
export const quota: Decider<CountedDownload, FeedDownloads, FeedDownloaded> = {
  category: 'download',
  supersedes: () => true,
  initial: {},
  decide({ page, recordedAt, ...download }, { first, last }) {
    // A process that lags behind counts towards the version that another has already sent. One after its own event is
    // of another log, from which the event was moved here.
    const isBehind = last !== undefined && last.version > download.version && last.version <= recordedAt;
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
        'the request quota is exceeded because the feed has not been updated recently: each version may be ' +
          `downloaded ${LIMIT.downloads} times within 24 hours`,
        { retryAfter },
      );
    }
    const begun = [...recent, download.at].slice(-LIMIT.downloads);
    return [downloaded({ ...download, version, begun, pages: page === undefined ? [] : [[page, page]] })];
  },
  evolve: ({ first }, { data }) => ({ first: first ?? data.at, last: data }),
};

/** The id of the aggregate. */
export function quotaId({
  feedId,
  organisationId,
}: Pick<CountedDownload, 'feedId' | 'organisationId'>): string {
  return `${feedId}-${organisationId}`;
}

function downloaded(data: FeedDownloaded['data']): FeedDownloaded {
  return { type: 'FeedDownloaded', data };
}

/** The pages of a download with one more; undefined if the page belongs to a new download. */
function withPage(pages: readonly Run[], page: number): readonly Run[] | undefined {
  if (pages.length === 0 || pages.some(([first, last]) => first <= page && page <= last)) return undefined;
  const before = pages.find(([, last]) => last === page - 1);
  const after = pages.find(([first]) => first === page + 1);
  const others = pages.filter((run) => run !== before && run !== after);
  if (others.length >= MOST_RUNS) return undefined;
  const run: Run = [before?.[0] ?? page, after?.[1] ?? page];
  return [...others, run].sort(([a], [b]) => a - b);
}
