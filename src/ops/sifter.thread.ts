import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../kernel/calls';
import { sift, type Sifted, type Slice } from '../products/load/sift';

/** What a thread does that reads products for the loader. */
export interface Sifter {
  sift(slice: Slice): Sifted;
}

serveCalls(workerData as MessagePort, { sift: (slice) => sift(slice) } satisfies Sifter);
