import { availableParallelism } from 'node:os';
import { type Report } from '../../runtime/failure-report';
import { giveWay, type Served, type Thread } from '../../runtime/thread';
import { type Validate } from '../../services/products/load/ingest/product-intake';
import { type Slice, type ValidatedSlice, validateSlice } from '../../services/products/load/ingest/validate';
import { startNamed } from '../start-thread';

interface Validator {
  validate(slice: Slice): ValidatedSlice;
}

export function run(): Served {
  giveWay();
  const calls: Validator = { validate: (slice) => validateSlice(slice) };
  return { calls, close: [] };
}

/** More threads would wait for the one that cuts bodies. */
const MAX_THREADS = 4;

interface Validating extends Thread<Validator> {
  /** Slices being validated. */
  busy: number;
}

/** Threads that validate products; need compiled code. */
export function validatorThreads(report: Report): { readonly validate: Validate; close(): Promise<void> } {
  const count = Math.min(MAX_THREADS, availableParallelism());
  const start = (): Validating => ({
    ...startNamed<Validator>('validator', {
      methods: ['validate'],
      data: () => ({}),
      report,
      startsWithCall: true,
    }),
    busy: 0,
  });
  const threads = Array.from({ length: count }, start);
  return {
    validate: async (slice) => {
      const thread = threads.reduce((idlest, other) => (other.busy < idlest.busy ? other : idlest));
      thread.busy += 1;
      return await thread.calls.validate(slice).finally(() => (thread.busy -= 1));
    },
    close: async () => {
      await Promise.all(threads.map(({ end }) => end()));
    },
  };
}
