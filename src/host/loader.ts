import { join } from 'node:path';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines, type EngineTicket } from '../engines/open';
import { type EventLog } from '../kernel/event-log';
import { type ProductLoader } from '../products/commands';
import { type FeedLock, FingerprintCache } from '../products/load/fingerprints/fingerprint-cache';
import { type Validate } from '../products/load/ingest/product-intake';
import { Loader } from '../products/load/loader';
import { type Report } from './failure-report';
import { startThread } from './thread';

export interface LoaderThreadData {
  readonly ticket: EngineTicket;
  readonly dataDir: string;
}

interface LoaderParts {
  readonly now?: () => Date;
  /** Without it, no other process loads feeds. */
  readonly feedLock?: FeedLock | undefined;
  /** Without it, products are validated in this thread. */
  readonly validate?: Validate;
}

/** A loader of this thread. */
export function makeLoader(
  log: EventLog,
  follower: FollowedDirectory,
  dataDir: string,
  { now = () => new Date(), feedLock, validate }: LoaderParts = {},
): Loader {
  const { directory } = follower;
  return new Loader({
    log,
    fingerprints: new FingerprintCache(log, join(dataDir, 'cache'), {
      feedLock,
      currencyAt: (feedId) => (position) => directory.currencies.ofFeed(feedId, position),
    }),
    spoolFolder: join(dataDir, 'spool'),
    directory,
    reached: (position) => follower.reachedInTime(position),
    now,
    validate,
  });
}

/** A loader in a thread of its own; needs compiled code. */
export function startLoader(engines: Engines, dataDir: string, report: Report): ProductLoader {
  const { calls, end } = startThread<Loader, LoaderThreadData>({
    file: join(__dirname, 'loader.thread.js'),
    methods: ['open', 'write', 'finish', 'abort', 'remove'],
    data: () => ({ ticket: engines.ticket(), dataDir }),
    report,
  });
  return { ...calls, close: end };
}
