import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../kernel/calls';
import { EmbeddedStore } from './embedded-store';

/** What a thread of the store is given: its folder, and the port that calls come in by until it is closed. */
export interface StoreThreadData {
  readonly directory: string;
  readonly port: MessagePort;
}

const { directory, port } = workerData as StoreThreadData;
const store = new EmbeddedStore(directory);
serveCalls(port, store);
port.on('close', () => void store.close());
