import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../kernel/calls';
import { type Slice } from '../products/load/ingest/slices';
import { type ValidatedSlice, validateSlice } from '../products/load/ingest/validate';

/** What a thread does that reads products for the loader. */
export interface Validator {
  validate(slice: Slice): ValidatedSlice;
}

serveCalls(workerData as MessagePort, { validate: (slice) => validateSlice(slice) } satisfies Validator);
