import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../kernel/calls';
import { EmbeddedStore } from './embedded-store';
import { QueryClock } from './query-clock';

/** What a thread of the store is given: its folder, and the port that calls come in by until it is closed. */
export interface StoreThreadData {
  readonly directory: string;
  readonly port: MessagePort;
  /** Holds 1 while the query under way is to be stopped. */
  readonly cancelled: Int32Array;
}

const { directory, port, cancelled } = workerData as StoreThreadData;
const store = new EmbeddedStore(directory, { clock: new QueryClock(cancelled) });
serveCalls(port, store);
port.on('close', () => void store.close());
