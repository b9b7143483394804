import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../kernel/calls';
import { validate, type Validated, type Slice } from '../products/load/validate';

/** What a thread does that reads products for the loader. */
export interface Validator {
  validate(slice: Slice): Validated;
}

serveCalls(workerData as MessagePort, { validate: (slice) => validate(slice) } satisfies Validator);
