import { createHash } from 'node:crypto';
import { z } from 'zod';
import { claims } from '../../../projections/claims';
import { deliveries } from '../../../projections/deliveries';
import { priceHistory } from '../../../projections/price-history';
import { products } from '../../../projections/products';
import { transactions } from '../../../projections/transactions';
import { vouchers } from '../../../projections/vouchers';
import { STATUSES } from '../../domain/claims/statuses';
import { STATES } from '../../domain/transactions/states';
import { defined, without } from '../../kernel/values';
import { type Projection } from '../../projector/projection';
import { DECIMALS_OF } from '../../wire/record/minor-units';
import {
  claim,
  currency,
  epoch,
  idIn,
  int,
  list,
  mark,
  money,
  optional,
  priced,
  product,
  text,
  time,
  transaction,
  voucher,
} from '../events/records';
import { EVENTS } from '../events/schemas';
import {
  ALL_EVENTS,
  amount,
  type Column,
  column,
  columnsOf,
  type DescribedTable,
  EVENT_TABLES,
  literal,
  quoted,
  STORED_ONLY,
  type Table,
} from './columns';

/** A table that is made of the documents of a read model, or of reference data. */
export interface ModelTable extends Table {
  /** Undefined for reference data. */
  readonly projection?: Projection;
}

interface ModelOptions {
  readonly projection?: Projection;
  readonly id: Column;
  readonly fields: z.ZodObject;
  readonly renamed?: Readonly<Record<string, string>>;
  /** The currency of its amounts, in SQL. */
  readonly currencyOf?: string;
  readonly more?: readonly Column[];
}

function model(
  description: string,
  { projection, id, fields, renamed = {}, currencyOf, more = [] }: ModelOptions,
): ModelTable {
  const decimals = currencyOf === undefined ? '2' : decimalsIn(currencyOf);
  const { columns, structure } = columnsOf(fields, { taken: [id.name], decimals });
  const named = columns.map((one) => ({ ...one, name: renamed[one.name] ?? one.name }));
  return { description, structure, columns: [id, ...named, ...more], ...defined({ projection }) };
}

/** Read models have hundredths, or minor units where the currency has more (`wire/record/minor-units.ts`). */
function decimalsIn(currencyOf: string): string {
  const cases = [3, 4].map((decimals) => {
    const codes = [...DECIMALS_OF].filter(([, of]) => of === decimals).map(([code]) => literal(code));
    return `WHEN ${currencyOf} IN (${codes.join(', ')}) THEN ${decimals}`;
  });
  return `CASE ${cases.join(' ')} ELSE 2 END`;
}

const numberId = (name: string, description: string) =>
  column(name, 'BIGINT', description, 'CAST(id AS BIGINT)');
const textId = (name: string, description: string) => column(name, 'VARCHAR', description, 'id');

function definedAs(type: string): z.ZodRawShape {
  return without(without(EVENTS.get(type)?.data.shape ?? {}, 'at'), 'id');
}

/** In SQL. */
function nameIn(table: Readonly<Record<number, { readonly name: string }>>, id: string): string {
  const cases = Object.entries(table).map(([one, { name }]) => `WHEN ${one} THEN ${literal(name)}`);
  return `CASE ${id} ${cases.join(' ')} END`;
}

const claimStates = Object.fromEntries(
  Object.entries(STATUSES).map(([id, { state }]) => [id, { name: state }]),
);

const amended = z.strictObject({
  orderValue: money('Corrected value of the order').optional(),
  expectedCommission: money('Corrected commission').optional(),
});

/** By name. */
export const MODEL_TABLES: ReadonlyMap<string, ModelTable> = new Map([
  [
    'products',
    model('The products that are in feeds', {
      projection: products,
      id: textId('productId', 'The platform’s id of the product'),
      fields: z.strictObject({
        feedId: int('Feed'),
        sourceProductId: text('The advertiser’s identifier of the product'),
        price: priced['price'] as z.ZodType,
        currency,
        modified: epoch('When it was listed or changed last'),
        changed: int('Position of its last event'),
        mapped: list(z.string(), 'Categories of the platform, one for each of its categories'),
        product,
      }),
    }),
  ],
  [
    'price_history',
    {
      ...model('Every price that a product has had', {
        projection: priceHistory,
        id: textId('productId', 'The platform’s id of the product'),
        fields: z.strictObject({ feedId: int('Feed') }),
        more: [
          column(
            'price',
            'DECIMAL(18,2)',
            'Price',
            amount("CAST(p->>'$[0]' AS BIGINT)", '2', 'DECIMAL(18,2)'),
          ),
          column('currency', 'VARCHAR', 'ISO 4217', "nullif(p->>'$[3]', '')"),
          column('since', 'TIMESTAMPTZ', 'Since when', "to_timestamp(CAST(p->>'$[1]' AS BIGINT) / 1000)"),
          column('position', 'BIGINT', 'Position of its event', "CAST(p->>'$[2]' AS BIGINT)"),
        ],
      }),
      rows: "json_extract(json, '$.prices[*]')",
    },
  ],
  [
    'transactions',
    model('Transactions', {
      projection: transactions,
      id: textId('transactionId', 'Id'),
      currencyOf: 'd.transaction.currencyId',
      fields: z.strictObject({
        messageTypeId: idIn(STATES, 'State'),
        changed: epoch('Its last transition or amendment'),
        sequenceNumber: int('Number of the state in its history'),
        autoApproveDate: time('When the system approves').optional(),
        autoDenyDate: time('When the system denies').optional(),
        approved: epoch('When it was approved, also if it was paid or deleted since').optional(),
        pendingStatusDateChanged: time('When it was approved or denied').optional(),
        deniedReasonId: int('Reason').optional(),
        paymentId: int('Payment').optional(),
        isHeld: mark('It stays Tracked until its validation is requested').optional(),
        reasons: list(z.string(), 'Why it is invalid').optional(),
        position: int('Position of its last event'),
        transaction,
      }),
      renamed: { messageTypeId: 'stateId' },
      more: [column('state', 'VARCHAR', 'Name of the state', nameIn(STATES, 'd.messageTypeId'))],
    }),
  ],
  [
    'vouchers',
    model('Vouchers that are not deleted', {
      projection: vouchers,
      id: numberId('voucherId', 'Id'),
      fields: z.strictObject({
        programId: int('Program'),
        sourceId: text('The advertiser’s identifier'),
        created: epoch('When it was created'),
        updated: epoch('When it was changed last'),
        currency: z.strictObject({
          currency: text('Currency of the discount, if it was recorded').optional(),
        }),
        voucher,
      }),
    }),
  ],
  [
    'claims',
    model('Claims that are not deleted', {
      projection: claims,
      id: numberId('claimId', 'Id'),
      currencyOf: 'd.origin.currencyId',
      fields: z.strictObject({
        version: int('`versionNo`'),
        created: epoch('When it was filed'),
        lastChanged: epoch('When it was changed last'),
        transactionId: text('Its transaction, once it is known').optional(),
        origin: z.strictObject({
          publisherId: int('Organisation of the publisher'),
          ...optional({ advertiserId: int('Organisation of the advertiser'), currencyId: currency }),
        }),
        status: z.strictObject({
          id: int('Status: `status` has its name'),
          message: text('Message for the publisher').optional(),
          since: epoch('When it entered the status'),
          autoApproveAt: epoch('When the system approves').optional(),
        }),
        claim,
        adjusted: amended.optional(),
      }),
      renamed: {
        id: 'statusId',
        since: 'statusSince',
        adjusted_orderValue: 'adjustedOrderValue',
        adjusted_expectedCommission: 'adjustedCommission',
      },
      more: [
        column('status', 'VARCHAR', 'Name of the status', nameIn(STATUSES, 'd.status.id')),
        column('state', 'VARCHAR', 'State that the status belongs to', nameIn(claimStates, 'd.status.id')),
      ],
    }),
  ],
  [
    'deliveries',
    model('Messages of the last days, and what has become of them', {
      projection: deliveries,
      id: textId('messageId', 'Id'),
      fields: z.strictObject({
        subscriptionId: text('Subscription'),
        organisationId: int('Organisation that the subscription belongs to'),
        receiver: text('Id of the receiver'),
        topic: text('What it is about'),
        subject: text('Id of the transaction or claim'),
        sequence: int('Number of the state in the history of its subject'),
        stateId: int('State of the transaction, or status of the claim'),
        at: time('When the state was entered'),
        state: text('due, retrying, delivered, dead or cancelled'),
        attempted: int('Number of attempts'),
        attempts: list(z.strictObject({ attempt: int('Number') }), 'The last attempts'),
        ...optional({
          made: time('When it was made, if it is of a backfill'),
          changed: time('The last outcome'),
          next: time('When it is tried again'),
          reason: text('Why it was given up without an attempt'),
          isTest: mark('It is a test'),
        }),
      }),
    }),
  ],
  [
    'feeds',
    model('Feeds', {
      id: numberId('feedId', 'Id'),
      fields: z.strictObject({ ...definedAs('FeedDefined'), published: time('Its last version').optional() }),
    }),
  ],
  [
    'programs',
    model('Programs of advertisers', {
      id: numberId('programId', 'Id'),
      fields: z.strictObject({ ...definedAs('ProgramDefined'), status: text('active, paused or closed') }),
    }),
  ],
  [
    'sites',
    model('Sites of publishers', {
      id: numberId('siteId', 'Id'),
      fields: z.strictObject({
        ...definedAs('SiteDefined'),
        programIds: list(z.int(), 'Programs it takes part in'),
      }),
    }),
  ],
]);

/** Of each table, by its name in lower case: its name, what it has, and its columns. */
export const DESCRIPTIONS: ReadonlyMap<string, { readonly name: string; readonly table: DescribedTable }> =
  new Map(
    [...EVENT_TABLES, ...MODEL_TABLES, ['events', ALL_EVENTS] as const].map(
      ([name, table]) => [name.toLowerCase(), { name, table }] as const,
    ),
  );

/** By which the engine lists them: its own `DESCRIBE` does not, but `duckdb_columns()` and others do. */
export const COMMENTS: readonly string[] = [...DESCRIPTIONS.values()].flatMap(({ name, table }) => [
  `COMMENT ON VIEW ${quoted(name)} IS ${literal(table.description)}`,
  ...table.columns.map(
    (one) => `COMMENT ON COLUMN ${quoted(name)}.${quoted(one.name)} IS ${literal(one.description)}`,
  ),
]);

/** Changes with whatever a snapshot is made by: another one is made then. */
export const LAYOUT = createHash('sha256')
  .update(JSON.stringify([2, [...EVENT_TABLES], STORED_ONLY, [...MODEL_TABLES]], withoutProjections))
  .digest('hex')
  .slice(0, 16);

function withoutProjections(key: string, value: unknown): unknown {
  return key === 'projection' ? undefined : value;
}
