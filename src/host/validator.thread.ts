import { type Slice, validate, type Validated } from '../products/load/validate';
import { serveThread } from './thread';

/** A thread that reads and validates products for the loader. */
export interface Validator {
  validate(slice: Slice): Validated;
}

serveThread(() => ({ calls: { validate } satisfies Validator, close: async () => undefined }));
