import { z } from 'zod';
import { outputDate as date, wholeNumber } from '../wire/shapes';
import { type Field, type FieldName, FIELDS } from './fields';

type Shapes = Readonly<Partial<Record<Field['kind'], z.ZodType>>>;

const text = z.string();
const code = z.union([text, z.int()]);

const category = { id: text.optional(), name: text.optional(), tdCategoryName: text.optional() };

/** Of the simple kinds of fields, as they are answered. */
const ANSWERED: Shapes = {
  text,
  code: text,
  url: text,
  integer: z.int(),
  price: z.number(),
  date,
  image: z.strictObject({ url: text, width: z.int().optional(), height: z.int().optional() }),
  categories: z.array(z.strictObject(category)),
  pairs: z.array(z.strictObject({ name: text, value: text })),
  prices: z.array(z.strictObject({ price: z.strictObject({ value: text, currency: text }), date })),
};

/** As they may be posted: numbers as text, identifiers as numbers (`docs/decisions.md#a11`). */
const POSTED: Shapes = {
  text,
  code,
  url: text,
  integer: wholeNumber,
  price: z.union([z.number().nonnegative(), text.regex(/^\d{1,15}(\.\d{2})?$/)]),
  image: z.object({ url: text, width: wholeNumber.optional(), height: wholeNumber.optional() }),
  categories: z.array(z.object({ ...category, id: code.optional() })),
  pairs: z.array(z.object({ name: text, value: text.optional() })),
};

const names = Object.keys(FIELDS) as readonly FieldName[];

/** The fields of which this is true, as an object has them. */
function having(
  condition: (field: Field) => boolean,
  shapes: Shapes,
  isRequired: (field: Field) => boolean,
): Record<string, z.ZodType> {
  const chosen = names.filter((name) => condition(FIELDS[name]));
  return Object.fromEntries(
    chosen.map((name) => {
      const field: Field = FIELDS[name];
      const shape = (shapes[field.kind] ?? text).describe(field.description);
      return [name, isRequired(field) ? shape : shape.optional()];
    }),
  );
}

function answered(place: Field['on'], shapes = ANSWERED): z.ZodType {
  return z.strictObject(
    having(
      ({ on }) => on === place,
      shapes,
      ({ always }) => always === true,
    ),
  );
}

const offer = answered('offer');
const product = answered('product', {
  ...ANSWERED,
  identifiers: answered('identifiers'),
  offers: z.array(offer),
});

/** Names that parts of these have in the description of the interface. */
export const productParts = { Product: product, Offer: offer };

/** Document 1, Product (search and bulk output), JSON response shape. */
export const foundProducts = z.strictObject({
  productHeader: z.strictObject({ totalHits: z.int(), nextCursor: text.optional() }),
  products: z.array(product),
  removed: z.array(text).optional(),
});

const isPosted = ({ posted }: Field) => posted !== 'never';
const isRequired = ({ posted }: Field) => posted === 'required';
const identifiers = z.object(having(({ kind }) => kind === 'code', POSTED, isRequired));

/** Document 1, Product (posted by an advertiser), JSON body shape. */
export const postedProducts = z.object({
  products: z.array(
    z.object({
      ...having(isPosted, { ...POSTED, identifiers }, isRequired),
      sourceProductId: code.describe(FIELDS.sourceProductId.description),
    }),
  ),
});

/** Document 1, Last-updated response (`docs/decisions.md#p19`). */
export const lastUpdated = z.strictObject({
  feedIds: z.array(z.int()),
  lastUpdatedTime: text.nullable().describe('UTC without an offset; null for a feed never loaded'),
});
