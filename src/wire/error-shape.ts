import { z } from 'zod';

/** The error list as JSON (Document 1, Errors; for all services `docs/decisions.md#a1`); empty, it tells of success. */
export const errorList = z.strictObject({
  errors: z.array(
    z.strictObject({
      code: z.string(),
      sourceProductId: z.string().optional().describe('The product that it belongs to'),
      message: z.string(),
    }),
  ),
});
