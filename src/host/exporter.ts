import { join } from 'node:path';
import { feedSource } from '../../projections/product-download';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines, type EngineTicket } from '../engines/open';
import { Exporter } from '../products/download/exporter';
import { type ProductExporter } from '../products/download/rendered-feed';
import { FeedVersions } from '../products/feed-version';
import { startThread } from './thread';

/** An exporter of this thread. */
export function makeExporter(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  follower: FollowedDirectory,
): Exporter {
  const { directory } = follower;
  const source = feedSource(store);
  return new Exporter({
    log,
    source,
    versions: new FeedVersions(log, directory, source),
    directory,
    reached: (position) => follower.reachedInTime(position),
  });
}

/** An exporter in a thread of its own; needs compiled code. */
export function startExporter(engines: Engines, report: (failure: string) => void): ProductExporter {
  const { calls, end } = startThread<Exporter, { readonly ticket: EngineTicket }>({
    file: join(__dirname, 'exporter.thread.js'),
    methods: ['open', 'begin', 'more', 'close'],
    data: () => ({ ticket: engines.ticket() }),
    report,
    // What is rendered lives until it is written: a larger young generation keeps it from being promoted.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  return { ...calls, end };
}
