import { z } from 'zod';
import { errorList } from '../wire/error-shape';
import { outputDate, wholeNumber } from '../wire/shapes';
import { LISTED_FIELDS, POSTED_FIELDS, type PostedField } from './fields';
import { MAX_VOUCHERS } from './voucher-body';

type Shapes<Kind extends string> = Readonly<Record<Kind, z.ZodType>>;

/** Numbers and booleans may be posted as text (Document 2, JSON body; `docs/decisions.md#a11`, `#v8`). */
const POSTED: Shapes<Exclude<PostedField['kind'], 'text' | 'id'>> = {
  integer: wholeNumber,
  integers: z.array(wholeNumber).max(POSTED_FIELDS.siteIds.most),
  amount: z.union([z.number().nonnegative(), z.string().regex(/^\d{1,15}(\.\d{1,15})?$/)]),
  date: wholeNumber,
  boolean: z.union([z.boolean(), z.enum(['true', 'false'])]),
};

const LISTED: Shapes<(typeof LISTED_FIELDS)[keyof typeof LISTED_FIELDS]['kind']> = {
  text: z.string(),
  integer: z.int(),
  amount: z.number(),
  date: outputDate,
  boolean: z.boolean(),
};

function posted({ kind, required, maxBytes, description }: PostedField): z.ZodType {
  const text = maxBytes === undefined ? z.string() : z.string().max(maxBytes);
  const shape = kind === 'text' ? text : kind === 'id' ? z.union([text, z.int()]) : POSTED[kind];
  const limit = maxBytes === undefined ? '' : `, ${maxBytes} bytes of UTF-8 at most`;
  const unit = kind === 'date' ? ', in milliseconds since 1970' : '';
  const described = shape.describe(`${description}${limit}${unit}`);
  return required === true ? described : described.optional();
}

/** Document 2, Voucher posted by an advertiser, JSON body. */
export const postedVoucher = z.object(
  Object.fromEntries(Object.entries(POSTED_FIELDS).map(([name, field]) => [name, posted(field)])),
);

/** `docs/decisions.md#v17`. */
export const postedVouchers = z.array(postedVoucher).max(MAX_VOUCHERS);

/** Document 2, Voucher returned by the list operation. */
export const listedVoucher = z.strictObject({
  ...Object.fromEntries(
    Object.entries(LISTED_FIELDS).map(([name, { kind, description }]) => [
      name,
      LISTED[kind].describe(description),
    ]),
  ),
  sourceId: z.string().optional().describe('The advertiser’s id, for its owner'),
});

export const listedVouchers = z.array(listedVoucher);

/** Document 2, Endpoints, Vouchers: the new primary key. */
export const voucherKey = z.array(z.int()).length(1);

const bulkResult = z.union([z.strictObject({ id: z.int() }), errorList]);

/** `docs/decisions.md#v17`. */
export const bulkResults = z.array(bulkResult).max(MAX_VOUCHERS);

/** `docs/decisions.md#v17`. */
export const voucherVersions = z.strictObject({
  versions: z.array(
    z.strictObject({
      version: z.int().describe('Counted from 1'),
      time: outputDate,
      changed: z.array(z.string()).describe('Fields as they are posted'),
    }),
  ),
});
