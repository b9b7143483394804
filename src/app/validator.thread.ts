import { type Slice } from '../services/products/load/ingest/slices';
import { type ValidatedSlice, validateSlice } from '../services/products/load/ingest/validate';
import { serveThread } from '../runtime/thread';

/** A thread that reads and validates products for the loader. */
export interface Validator {
  validate(slice: Slice): ValidatedSlice;
}

serveThread(() => ({
  calls: { validate: (slice) => validateSlice(slice) } satisfies Validator,
  close: async () => undefined,
}));
