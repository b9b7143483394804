import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls';
import { crash } from '../../../runtime/failure-report';
import { giveWay } from '../../../runtime/thread';
import { EmbeddedStore } from './embedded-store';
import { QueryClock } from './generation-file';
import { ThreadArrays, type ThreadPool } from './thread-arrays';

/** The data of a store thread: the store's folder, and the port for calls. The thread ends when the port closes. */
export interface StoreThreadData {
  readonly directory: string;
  readonly port: MessagePort;
  /** Bytes of search indexes to cache. */
  readonly cacheBytes: number;
  /** It only answers queries. */
  readonly isReading: boolean;
  /** The threads that answer queries. */
  readonly pool: ThreadPool;
  /** Set to 1 to stop the current query. */
  readonly cancelled: Int32Array;
}

const { directory, port, pool, cancelled, ...options } = workerData as StoreThreadData;
// Large batches and merges.
if (!options.isReading) giveWay();
const arrays = options.isReading ? new ThreadArrays(pool) : undefined;
const store = new EmbeddedStore(directory, { ...options, arrays, clock: new QueryClock(cancelled) });
serveCalls(port, store);
port.on('close', () => {
  store.close().catch(crash);
});
