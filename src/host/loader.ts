import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines, type EngineTicket } from '../engines/open';
import { callsOver } from '../kernel/calls';
import { type EventLog } from '../kernel/event-log';
import { type ProductLoader } from '../products/commands';
import { type FeedLock, FingerprintCache } from '../products/load/fingerprints/fingerprint-cache';
import { type Validate } from '../products/load/ingest/product-intake';
import { Loader } from '../products/load/loader';

export interface LoaderThreadData {
  readonly ticket: EngineTicket;
  readonly dataDir: string;
  /** Where the calls come in. */
  readonly port: MessagePort;
}

interface LoaderParts {
  readonly now?: () => Date;
  /** Without it, no other process loads feeds. */
  readonly turns?: FeedLock | undefined;
  /** Without it, this thread validates products. */
  readonly validate?: Validate;
}

/** A loader of this thread. */
export function makeLoader(
  log: EventLog,
  follower: FollowedDirectory,
  dataDir: string,
  { now = () => new Date(), turns, validate }: LoaderParts = {},
): Loader {
  return new Loader({
    log,
    fingerprints: new FingerprintCache(log, join(dataDir, 'cache'), turns),
    spoolFolder: join(dataDir, 'spool'),
    directory: follower.directory,
    reached: (position) => follower.reachedInTime(position),
    now,
    validate,
  });
}

/** A loader in a thread of its own; needs compiled code. */
export function startLoader(engines: Engines, dataDir: string): ProductLoader {
  const ticket = engines.ticket();
  const { port1, port2: port } = new MessageChannel();
  const workerData: LoaderThreadData = { ticket, dataDir, port };
  const thread = new Worker(join(__dirname, 'loader.thread.js'), {
    workerData,
    transferList: [port, ...ticket.ports],
  });
  thread.unref();
  const { open, write, finish, abort, remove, close } = callsOver<Loader>(port1);
  // These and no others: Nest would call hooks of its own on an object that has every method.
  return { open, write, finish, abort, remove, close };
}
