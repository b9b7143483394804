import { z } from 'zod';

/** A whole number, or its digits as text (`docs/decisions.md#a11`). */
export const wholeNumber = z.union([z.int(), z.string().regex(/^-?\d{1,16}$/)]);

/** A time in an answer, as `dateOutputFormat` wants it. */
export const outputDate = z
  .union([z.int(), z.string().meta({ format: 'date-time' })])
  .describe('Milliseconds since 1970, or ISO 8601');
