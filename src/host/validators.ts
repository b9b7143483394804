import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../kernel/calls';
import { type Validate } from '../products/load/ingest/product-intake';
import { type Validator } from './validator.thread';

/** More threads than these wait for the one that cuts bodies. */
const MOST = 4;

/** Threads that read products, started when they are first needed; need compiled code. */
export function validatorThreads(): { readonly validate: Validate; close(): void } {
  const threads: Thread[] = [];
  const count = Math.min(MOST, availableParallelism());
  return {
    validate: async (slice) => {
      while (threads.length < count) threads.push(startThread());
      const thread = threads.reduce((idlest, other) => (other.busy < idlest.busy ? other : idlest));
      thread.busy += 1;
      return await thread.calls.validate(slice).finally(() => (thread.busy -= 1));
    },
    close: () => {
      for (const { close } of threads) close();
    },
  };
}

interface Thread {
  readonly calls: Remote<Validator>;
  /** Slices under way. */
  busy: number;
  readonly close: () => void;
}

function startThread(): Thread {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(join(__dirname, 'validator.thread.js'), {
    workerData: port2,
    transferList: [port2],
  });
  worker.unref();
  return { calls: callsOver<Validator>(port1), busy: 0, close: () => port1.close() };
}
