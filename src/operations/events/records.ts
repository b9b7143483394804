import { z } from 'zod';
import { STATUSES } from '../../domain/claims/statuses';
import { DENIED_REASONS, EVENT_TYPES } from '../../domain/transactions/states';
import { VOUCHER_TYPES } from '../../domain/vouchers/voucher';

/** What events are described with (`schemas.ts`): kinds of fields, and records that several events contain. */

type EventFields = Readonly<Record<string, z.ZodType>>;

export interface DescribedEvent {
  /** The names of its streams; `<…>` stands for an id. */
  readonly streams: readonly string[];
  readonly description: string;
  readonly data: z.ZodObject;
  readonly meta: z.ZodObject;
}

/** Of any event that was appended while traces were on (`docs/decisions.md#x133`). */
const TRACED = {
  traceparent: z.string().describe('The span that has caused it (W3C Trace Context)').optional(),
};

export function event(
  stream: string,
  description: string,
  data: EventFields,
  { meta = {}, at = 'When it happened' }: { readonly meta?: EventFields; readonly at?: string } = {},
): DescribedEvent {
  return {
    streams: stream.split(' or '),
    description,
    data: z.strictObject({ at: time(at), ...data }),
    meta: z.strictObject({ ...meta, ...TRACED }),
  };
}

/** An event whose data has no `at`, or describes it among the other fields. */
export function bare(stream: string, description: string, data: EventFields): DescribedEvent {
  return { ...event(stream, description, {}), data: z.strictObject(data) };
}

/** A record that several events contain. */
export function shared(id: string, fields: EventFields): z.ZodObject {
  return z.strictObject(fields).meta({ id });
}

/** Describes fields that may be absent. */
export function optional(fields: EventFields): EventFields {
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, kind.optional()]));
}

export const text = (is: string): z.ZodType => z.string().describe(is);
export const int = (is: string): z.ZodType => z.int().describe(is);

/** `minor` of `money`, `hundredths`, `ms` since 1970, `iso` 8601. */
type Unit = 'minor' | 'hundredths' | 'ms' | 'iso';

/** Units of values for those who convert them, with what is described without its unit. */
export const UNITS = z.registry<{ readonly unit: Unit; readonly is: string }>();

function inUnit(kind: z.ZodType, unit: Unit, is: string): z.ZodType {
  UNITS.add(kind, { unit, is });
  return kind;
}

export const number = (is: string): z.ZodType => z.number().describe(is);
export const flag = (is: string): z.ZodType => z.boolean().describe(is);
/** One of the ids of a table. */
export const idIn = (table: Readonly<Record<number, { readonly name: string }>>, is: string): z.ZodType =>
  int(
    `${is}: ${Object.entries(table)
      .map(([id, { name }]) => `${id} ${name}`)
      .join(', ')}`,
  );
/** Present only if it holds. */
export const mark = (is: string): z.ZodType => z.literal(true).describe(is);
export const word = (words: readonly string[], is: string): z.ZodType => z.enum(words).describe(is);
export const time = (is: string): z.ZodType =>
  inUnit(text(`${is}, ISO 8601 in UTC`).meta({ format: 'date-time' }), 'iso', is);
export const list = (items: z.ZodType, is: string): z.ZodType => z.array(items).describe(is);
export const table = (values: z.ZodType, is: string): z.ZodType => z.record(z.string(), values).describe(is);
export const epoch = (is: string): z.ZodType => inUnit(int(`${is}, in milliseconds since 1970`), 'ms', is);
export const position = (is: string): z.ZodType => text(`${is}: a log position`);
/** Of a transaction, a claim or a commission. */
export const money = (is: string): z.ZodType =>
  inUnit(
    int(`${is}: divide by 10 to the power of \`decimals\` of the event, by 100 if it has none`),
    'minor',
    is,
  );

// Shared records

export const decimals = int('Decimals of amounts in this event; 2 if absent').optional();
export const currency = text('Currency of amounts, ISO 4217');

const identifiers = z.strictObject(
  optional({
    ean: text('International article number, in digits'),
    sku: text('Stock-keeping unit'),
    upc: text('Universal product code'),
    isbn: text('International standard book number'),
    mpn: text('Part number of the manufacturer'),
  }),
);

export const product = shared('Product', {
  name: text('Title'),
  description: text('Long description'),
  productUrl: text('Page of the product'),
  productImage: z
    .strictObject({ url: text('Address'), ...optional({ width: int('Pixels'), height: int('Pixels') }) })
    .describe('Image'),
  categories: list(
    z.strictObject(
      optional({
        id: text('Category of the platform'),
        name: text('The advertiser’s own name'),
        tdCategoryName: text('Name of the category of the platform, in English'),
      }),
    ),
    'Categories of the platform, of the advertiser, or both',
  ),
  ...optional({
    availability: text('Availability'),
    brand: text('Brand'),
    condition: text('Condition, such as used or new'),
    deliveryTime: text('How long delivery takes'),
    identifiers: identifiers.describe('Global identifiers'),
    inStock: int('Number of items in stock'),
    manufacturer: text('Manufacturer'),
    model: text('Model'),
    promoText: text('Promotional text'),
    shippingCost: text('Cost of delivery as it was posted: a word or a decimal number'),
    shortDescription: text('Short description'),
    size: text('Size'),
    techSpecs: text('Technical specification'),
    warranty: text('Warranty'),
    weight: text('Weight with its unit'),
    fields: list(z.strictObject({ name: text('Name'), value: text('Value') }), 'Custom fields'),
  }),
});

export function hundredths(is: string): z.ZodType {
  const unit = 'in hundredths of the currency, whatever it is: 12990 is 129.90';
  return inUnit(int(`${is} ${unit}`), 'hundredths', is);
}

export const priced: EventFields = {
  sourceProductId: text('The advertiser’s identifier of the product'),
  price: hundredths('Price'),
  currency: text(
    'Currency of the price, ISO 4217; if absent, that of the program at this position',
  ).optional(),
  fellFrom: hundredths('The price before, if that was higher').optional(),
};
export const backInStock = mark('It is in stock, and was out of stock before').optional();
export const ofLoad: EventFields = {
  loadId: text('Load or deletion: `X-Load-Id`').optional(),
  loadTime: time('When it ended'),
  programId: int('First program of the feed').optional(),
};
export const changedProduct: EventFields = {
  ...ofLoad,
  sourceProductId: text('The advertiser’s identifier of the product'),
  name: text('Name'),
  ...optional({
    brand: text('Brand'),
    ean: text('International article number, in digits'),
    productUrl: text('Page of the product'),
    imageUrl: text('Image'),
    inStock: int('Number of items in stock'),
    availability: text('Availability'),
    trackerUrl: text('What tracker links began with'),
  }),
  price: hundredths('Price'),
  currency: text('Currency of the price, ISO 4217').optional(),
  categoryIds: list(z.string(), 'Platform categories that it is mapped to, and those above them'),
};
export const content = { content: text('Digest of `product`, 32 hexadecimal digits').optional() };

export const importId = text('Id of the post: `X-Load-Id`, `importId` of the load report');
export const mode = word(['update', 'replace'], 'Whether the feed was replaced');
export const durationMs = int('Duration in milliseconds');
export const faults = list(
  z.strictObject({
    code: text('Code of the error'),
    sourceProductId: text('The product; absent if the body as a whole was refused').optional(),
    message: text('What is wrong'),
  }),
  'What was wrong, at most 1,000',
);

export const commission = z
  .union([
    z.strictObject({ percent: number('Per cent of the order value') }),
    z.strictObject({
      fixed: int('Amount: divide by 10 to the power of `decimals`, by 100 if it is absent'),
      decimals: int('Decimals of `fixed`; 2 if absent').optional(),
    }),
  ])
  .describe('What a publisher earns, per cent of the order value or a fixed amount');
export const terms = z
  .strictObject({ commission: commission.optional() })
  .describe('Terms of the program’s event at that time')
  .optional();

export const transaction = shared('Transaction', {
  advertiserId: int('Organisation of the advertiser'),
  programId: int('Program'),
  programCountry: text('Country of the program, ISO 3166-1'),
  siteId: int('Site of the publisher'),
  siteName: text('Name of the site'),
  eventId: int('Event of the program'),
  eventTypeId: idIn(EVENT_TYPES, 'Type of the event'),
  orderNumber: text('Order number of the advertiser'),
  orderValue: money('Value of the order'),
  currencyId: currency,
  publisherCommission: money('Commission of the publisher'),
  tdCommission: money('Commission of the platform'),
  timeOfEvent: time('Time of the conversion'),
  ...optional({
    publisherId: int('Organisation that owned the site; absent for an unknown site'),
    timeOfVisit: time('Time of the click or impression'),
    mediaCost: money('Alternative commission for technology clients'),
    adId: int('Ad or banner'),
    locationId: int('Campaign ad location'),
    batchId: int('Batch file that contained it'),
    epi: text('Extra publisher information'),
    epi2: text('Further publisher information'),
    productId: text('Product feed'),
    reportInfo: text('Items of the order: f1=number&f2=name&f3=value&f4=quantity, separated by |'),
    visitorId: text('Visitor id set at impression or click'),
    claimId: int('The claim that it was made of, if the ids of the order belong to another transaction'),
  }),
});

const autoApproveDate = time('End of the pending period: the system approves then').optional();
const autoDenyDate = time('End of the pending period: the system denies then').optional();
export const period = { autoApproveDate, autoDenyDate };
export const decision = {
  pendingStatusDateChanged: time('When it was approved or denied'),
  deniedReasonId: idIn(DENIED_REASONS, 'Reason'),
};

export function entered(description: string, more: EventFields = {}): DescribedEvent {
  return event('transaction-<transactionId>', description, { transaction, decimals, ...more });
}

export const claim = shared('Claim', {
  siteId: int('Site of the publisher'),
  programId: int('Program'),
  transactionDate: text('Date of the order, YYYY-MM-DD'),
  eventId: int('Event of the program'),
  orderNumber: text('Order number'),
  orderValue: money('Value of the order'),
  ...optional({
    epi: text('Extra publisher information'),
    epi2: text('Further publisher information'),
    trackingUrl: text('Tracking link'),
    productName: text('Name of the product'),
    proofOfClaims: text('Address of a proof'),
    expectedCommission: money('Commission that the publisher expects'),
    advertiserInformation: text('Information for the advertiser'),
  }),
});
export const programFacts = {
  advertiserId: int('Organisation of the advertiser; absent if there was no such program').optional(),
  currencyId: text('Currency of amounts, ISO 4217; absent if there was no such program').optional(),
  terms,
};
export const origin = { publisherId: int('Organisation of the publisher'), ...programFacts };
export const screening = {
  statusId: idIn(STATUSES, 'Status'),
  message: text('Message for the publisher').optional(),
  autoApproveAt: time('When it is approved automatically').optional(),
};
export const version = int('`versionNo` of the claim, from 0');
export const subject = { ...origin, decimals, version, claim };

export const voucher = shared('Voucher', {
  title: text('Title'),
  voucherTypeId: idIn(VOUCHER_TYPES, 'Type'),
  shortDescription: text('Short description'),
  description: text('Description'),
  startDate: time('Valid from'),
  endDate: time('Valid until'),
  ...optional({
    code: text('Code'),
    siteIds: list(z.int(), 'Sites that may use it; absent: all'),
    landingUrl: text('Landing page'),
    publishStartDate: time('Published from'),
    publishEndDate: time('Published until'),
    publisherInformation: text('Information for publishers'),
    discountAmount: number('Discount as it was posted: 10.5 is 10.5 per cent, or 10.50 in the currency'),
    isPercentage: flag('Whether the discount is per cent'),
    languageId: text('Language, ISO 639-1'),
  }),
});
export const voucherCurrency = text(
  'Currency of the discount, ISO 4217; if absent, that of the program at this position',
).optional();
export const replacedVoucher = shared('ReplacedVoucher', {
  programId: int('Program'),
  voucher,
  currency: text('Currency of the discount, ISO 4217').optional(),
  phase: word(
    ['coming', 'shown', 'over'],
    'Whether publishers saw it: not yet, or no longer, or at that time',
  ),
}).optional();
