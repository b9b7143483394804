import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { feedSource } from '../../projections/product-download';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines, type EngineTicket } from '../engines/open';
import { callsOver } from '../kernel/calls';
import { Exporter } from '../products/download/exporter';
import { type ProductExporter } from '../products/download/rendered-feed';
import { FeedVersions } from '../products/feed-version';

export interface ExporterThreadData {
  readonly ticket: EngineTicket;
  /** Where the calls come in. */
  readonly port: MessagePort;
}

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
export function startExporter(engines: Engines): ProductExporter {
  const ticket = engines.ticket();
  const { port1, port2: port } = new MessageChannel();
  const workerData: ExporterThreadData = { ticket, port };
  const thread = new Worker(join(__dirname, 'exporter.thread.js'), {
    workerData,
    transferList: [port, ...ticket.ports],
    // What is rendered is young for as long as it takes to write it.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  thread.unref();
  const { open, begin, more, close, end } = callsOver<Exporter>(port1);
  // These and no others: Nest would call hooks of its own on an object that has every method.
  return { open, begin, more, close, end };
}
