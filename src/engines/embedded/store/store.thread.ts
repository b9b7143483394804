import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls';
import { crash } from '../../../runtime/failure-report';
import { giveWay } from '../../../runtime/thread';
import { EmbeddedStore } from './embedded-store';
import { QueryClock } from './generation-file';

/** The data of a store thread: the store's folder, and the port for calls. The thread ends when the port closes. */
export interface StoreThreadData {
  readonly directory: string;
  readonly port: MessagePort;
  /** Bytes of search indexes to cache. */
  readonly cacheBytes: number;
  /** It only answers queries. */
  readonly isReading: boolean;
  /** Set to 1 to stop the current query. */
  readonly cancelled: Int32Array;
}

const { directory, port, cancelled, ...options } = workerData as StoreThreadData;
// Large batches and merges.
if (!options.isReading) giveWay();
const store = new EmbeddedStore(directory, { ...options, clock: new QueryClock(cancelled) });
serveCalls(port, store);
port.on('close', () => {
  store.close().catch(crash);
});
