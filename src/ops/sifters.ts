import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../kernel/calls';
import { type Sift } from '../products/load/receiver';
import { type Sifter } from './sifter.thread';

/** More threads than these wait for the one that cuts bodies. */
const MOST = 4;

/** Threads that read products, started when they are first needed; need compiled code. */
export function sifterThreads(): { readonly sift: Sift; close(): void } {
  const threads: Thread[] = [];
  const count = Math.min(MOST, availableParallelism());
  return {
    sift: async (slice) => {
      while (threads.length < count) threads.push(startThread());
      const thread = threads.reduce((idlest, other) => (other.busy < idlest.busy ? other : idlest));
      thread.busy += 1;
      return await thread.calls.sift(slice).finally(() => (thread.busy -= 1));
    },
    close: () => {
      for (const { close } of threads) close();
    },
  };
}

interface Thread {
  readonly calls: Remote<Sifter>;
  /** Slices under way. */
  busy: number;
  readonly close: () => void;
}

function startThread(): Thread {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(join(__dirname, 'sifter.thread.js'), {
    workerData: port2,
    transferList: [port2],
  });
  worker.unref();
  return { calls: callsOver<Sifter>(port1), busy: 0, close: () => port1.close() };
}
