import { join } from 'node:path';
import { type Directory } from '../../../network/directory';
import { type FollowedDirectory } from '../../../network/follower';
import { type EventLog } from '../../../kernel/event-log';
import { type FeedLock, FingerprintCache } from './fingerprints/fingerprint-cache';
import { type Validate } from './ingest/product-intake';
import { Loader } from './loader';

interface LoaderParts {
  readonly now?: () => Date;
  /** Without it, no other process loads feeds. */
  readonly feedLock?: FeedLock | undefined;
  /** Without it, products are validated in this thread. */
  readonly validate?: Validate;
}

/** The organisation whose products a feed has; undefined for an unknown feed. */
function ownerOf({ programs }: Directory, feedId: number): number | undefined {
  const [programId] = programs.feed(feedId)?.programIds ?? [];
  return programId === undefined ? undefined : programs.get(programId)?.organisationId;
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
      ownerOf: (feedId) => String(ownerOf(directory, feedId)),
      currencyAt: (feedId) => (position) => directory.currencies.ofFeed(feedId, position),
    }),
    spoolFolder: join(dataDir, 'spool'),
    directory,
    reached: (position) => follower.reachedInTime(position),
    now,
    validate,
  });
}
