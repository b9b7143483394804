import { z } from 'zod';
import { type RecordedEvent } from '../../kernel/event';
import { jsonObject } from '../../kernel/values';
import { ORGANISATION_KINDS, SYSTEMS } from '../../network/events';
import {
  type DescribedEvent,
  event,
  bare,
  optional,
  text,
  int,
  flag,
  mark,
  word,
  time,
  list,
  table,
  position,
  money,
  decimals,
  currency,
  product,
  priced,
  backInStock,
  changedProduct,
  hundredths,
  ofLoad,
  content,
  importId,
  mode,
  durationMs,
  faults,
  commission,
  terms,
  period,
  decision,
  entered,
  claim,
  programFacts,
  origin,
  screening,
  version,
  subject,
  replacedVoucher,
  voucher,
  voucherCurrency,
} from './records';
import { SYSTEM_EVENTS } from './system';

/**
 * The events of the log and of the delivery log, for those who read them: `docs/events.md`, `/1.0/schemas/events/` and
 * `affilog log check` are made from this description. A field that older events lack is optional. It has exactly the
 * types and fields of the samples in `test/golden/`.
 */

const id = int('Id');
const name = text('Name');
const key = 'claimkey-<hash> or claimorder-<hash> or voucherkey-<hash>';
const owner = int('Id of the voucher or claim that the key is for');
const feedId = int('Feed');
const organisationId = int('Organisation');
const tokenHash = text('SHA-256 of the token; not in `GET /ops/1.0/log`');

const connection = { siteId: int('Site'), programId: int('Program') };
const mapped = { feedId, name: text('The advertiser’s category name') };

const TYPES: Readonly<Record<string, DescribedEvent>> = {
  // Products
  ProductListed: event(
    'feed-<feedId>',
    'A product that was not in the feed is in it.',
    { ...priced, backInStock, product },
    { meta: content },
  ),
  ProductRevised: event(
    'feed-<feedId>',
    'The content of a product, and maybe its price, has changed.',
    { ...priced, backInStock, product },
    { meta: content },
  ),
  ProductRepriced: event('feed-<feedId>', 'Only the price of a product has changed.', priced),
  ProductDelisted: event('feed-<feedId>', 'A product is no longer in the feed.', {
    sourceProductId: text('The advertiser’s identifier of the product'),
  }),
  FeedImported: event(
    'feed-<feedId>',
    'A load has ended: what it changed is complete.',
    {
      importId,
      mode,
      durationMs,
      new: int('New products'),
      revised: int('Changed products'),
      repriced: int('Products of which only the price changed'),
      unchanged: int('Unchanged products'),
      removed: int('Removed products'),
      refused: int('Refused products'),
      faults,
      ...optional({
        moreFaults: int('Faults that are not listed'),
        unmapped: int('New and changed products that no category maps'),
        ignoredFields: list(
          z.strictObject({
            field: text('Path in a product; an attribute is `@name`'),
            products: int('In how many products it was'),
            sourceProductId: text('One of these').optional(),
          }),
          'Posted fields that are unknown and were ignored',
        ),
        largeRemoval: mark('A replacement has removed most products of a large feed'),
        restores: text('The load or deletion whose changes it has undone'),
        fetched: mark('The system has fetched it from the source of the feed'),
      }),
    },
    { at: 'When it ended' },
  ),
  ProductPriceFell: event(
    'feedchanges-<feedId>',
    'A load has lowered the price of a product, of which subscribers may be notified.',
    { ...changedProduct, fellFrom: hundredths('The price before') },
  ),
  ProductBackInStock: event(
    'feedchanges-<feedId>',
    'A product is back in stock by a load, of which subscribers may be notified.',
    changedProduct,
  ),
  FeedChangesRecorded: event(
    'feedchanges-<feedId>',
    'What loads have changed up to here is recorded for subscribers.',
    {
      upTo: int('Revision in `feed-<feedId>`'),
      load: z
        .strictObject({
          ...ofLoad,
          mode: word(['update', 'replace', 'deletion'], 'What it was'),
          new: int('Products that were added'),
          revised: int('Products with another content'),
          repriced: int('Products of which only the price changed'),
          removed: int('Products that were removed'),
          fallen: int('Prices that fell'),
          restocked: int('Products that are back in stock'),
        })
        .describe('The load or deletion that ended there, if subscribers may be notified of it')
        .optional(),
    },
  ),
  ProductsDeleted: event('feed-<feedId>', 'A deletion of products has ended.', {
    removed: int('Removed products'),
    importId: importId.optional(),
  }),
  FeedImportRefused: event('feedrefusals-<feedId>', 'A post of products was refused as a whole.', {
    importId,
    mode,
    durationMs,
    faults,
    fetched: mark('The system has fetched it from the source of the feed').optional(),
  }),
  SourceSet: event('feedsource-<feedId>', 'The system is to fetch a feed by itself.', {
    url: text('Address of the file'),
    minutes: int('Minutes from one fetch to the next'),
    format: text('Format of the file; absent: it is recognised').optional(),
    map: text(
      'Columns of CSV that are read as if they had other names, such as name:title,price:Preis',
    ).optional(),
    charset: text('Encoding of the file, whatever is said of it').optional(),
  }),
  SourceRemoved: event('feedsource-<feedId>', 'A feed is no longer fetched. Its products stay.', {}),
  SourceFetchRequested: event('feedsource-<feedId>', 'Somebody has asked for a fetch at once.', {}),
  SourceFetched: event(
    'feedsource-<feedId>',
    'The first good fetch since the source was set, asked for, failed or held. Further ones are in loads only.',
    { importId: importId.optional() },
  ),
  SourceFailed: event('feedsource-<feedId>', 'The first of several fetches that failed.', {
    reason: text('Why'),
  }),
  SourceHeld: event(
    'feedsource-<feedId>',
    'A file was not loaded, since it would have removed more than half of the feed.',
    { listed: int('Products of the feed'), removed: int('How many of them the file does not have') },
  ),
  SourceShrinkAccepted: event('feedsource-<feedId>', 'The next fetch may remove as many products.', {
    removed: int('Products that may be removed'),
  }),
  FeedDownloaded: event('download-<feedId>-<organisationId>', 'A feed, or a page of it, was downloaded.', {
    feedId,
    organisationId,
    version: position('Version of the feed'),
    begun: list(z.string(), 'Starts of the last downloads of this version, oldest first, ISO 8601'),
    pages: list(
      z.array(z.int()),
      'Pages sent of the current download, as runs [first, last]; empty: the whole feed',
    ),
  }),
  // Vouchers
  VoucherPublished: event('voucher-<voucherId>', 'A voucher was posted for the first time.', {
    programId: int('Program'),
    sourceId: text('The advertiser’s identifier').optional(),
    voucher,
    currency: voucherCurrency,
  }),
  VoucherRevised: event('voucher-<voucherId>', 'An edit has replaced the content of a voucher.', {
    voucher,
    currency: voucherCurrency,
    replaced: replacedVoucher,
  }),
  VoucherWithdrawn: event('voucher-<voucherId>', 'A voucher was deleted.', { replaced: replacedVoucher }),
  VoucherShown: event('voucher-<voucherId>', 'By time alone, publishers begin to see a voucher.', {
    programId: int('Program'),
    voucher,
    currency: voucherCurrency,
  }),
  VoucherHidden: event('voucher-<voucherId>', 'By time alone, publishers cease to see a voucher.', {
    programId: int('Program'),
    voucher,
    currency: voucherCurrency,
    unseen: mark('They have never seen it, since nothing ran meanwhile').optional(),
  }),
  // Transactions
  TransactionTracked: entered('A transaction was reported.', {
    isHeld: mark('It stays Tracked until its validation is requested').optional(),
    terms,
  }),
  TransactionInvalidated: entered('It is invalid.', { reasons: list(z.string(), 'Why') }),
  TransactionPaused: entered('It waits, since the program is paused.'),
  TransactionBecamePending: entered('Its pending period has begun.', period),
  TransactionTrackedApproved: entered('It is approved without a pending period.'),
  TransactionPendingApproved: entered('It is approved after its pending period.', { ...period, ...decision }),
  TransactionPausedDeleted: entered('It is deleted: the program was closed while it was paused.'),
  TransactionDeleted: entered('It is denied or deleted.', { ...period, ...decision }),
  TransactionPaid: entered('It was paid.', { paymentId: int('Payment') }),
  TransactionAmended: entered('Values were amended while it is pending; the state stays.', period),
  // Claims
  ClaimFiled: event('claim-<claimId>', 'A publisher has filed a claim.', { ...origin, decimals, claim }),
  ClaimRevised: event('claim-<claimId>', 'A publisher has updated a claim.', {
    ...programFacts,
    decimals,
    version,
    claim,
  }),
  ClaimScreened: event('claim-<claimId>', 'A claim was validated, or an operator has decided about it.', {
    ...screening,
    ...subject,
    by: word(['operator'], 'Who decided; absent: the system').optional(),
  }),
  ClaimRuled: event('claim-<claimId>', 'The advertiser, or the system, has approved or rejected a claim.', {
    by: word(['advertiser', 'system'], 'Who decided'),
    statusId: screening.statusId,
    ...optional({
      message: text('Message for the publisher'),
      orderValue: money('Corrected value of the order'),
      expectedCommission: money('Corrected commission'),
    }),
    ...subject,
  }),
  ClaimTracked: event('claim-<claimId>', 'The transaction of an approved claim is known.', {
    transactionId: text('Transaction'),
  }),
  ClaimKeyReclaimed: event('claim-<claimId>', 'An interrupted update can no longer be stored.', {}),
  ClaimWithdrawn: event('claim-<claimId>', 'A claim was deleted; as the only event: never filed.', {}),
  ClaimBatchAccepted: event('claim-batch-<claimId>', 'The claims of one post are accepted as a whole.', {
    claims: list(
      z.strictObject({
        id: int('Id of the claim'),
        origin: z.strictObject(origin).describe('Whose it is'),
        claim,
        screening: z.strictObject(screening).describe('Result of its validation'),
        decimals: int('Decimals of the amounts of this claim; 2 if absent').optional(),
      }),
      'The claims',
    ),
  }),
  ClaimBatchFinished: event('claim-batch-<claimId>', 'All claims of the post are filed.', {}),
  ClaimBatchAbandoned: event('claim-batch-<claimId>', 'The post was interrupted: none is filed.', {}),
  // Keys and ids
  KeyReserved: event(key, 'A unique key is reserved.', {
    owner,
    batch: int('The batch of claims that it is created with').optional(),
    revision: int('Revision of the claim before the update').optional(),
  }),
  KeyReleased: event(key, 'A unique key is free.', { owner }),
  IdsAllotted: bare('sequence-<name>', 'A process was allotted a block of ids.', {
    from: int('First id'),
    to: int('Last id'),
  }),
  // Reference data
  OrganisationDefined: event('organisation-<organisationId>', 'An organisation, as a whole.', {
    id,
    kind: word(ORGANISATION_KINDS, 'Kind'),
    name,
  }),
  OrganisationRemoved: event('organisation-<organisationId>', 'An organisation was removed.', { id }),
  TokenIssued: event('organisation-<organisationId>', 'A token was issued.', {
    organisationId,
    system: word(SYSTEMS, 'Service'),
    siteId: int('Site that it is for').optional(),
    hash: tokenHash,
    expires: time('When it expires').optional(),
  }),
  TokenRevoked: event('organisation-<organisationId>', 'A token was revoked.', {
    organisationId,
    hash: tokenHash,
  }),
  ProgramDefined: event('program-<programId>', 'A program, as a whole.', {
    id,
    organisationId: int('Organisation of the advertiser'),
    name,
    country: text('ISO 3166-1'),
    currency,
    logoUrl: z.string().nullable().describe('Logo'),
    acceptsClaims: flag('Whether it accepts claims'),
    daysToAutoApprove: z.int().nullable().describe('Days until claims are approved; null: never'),
    invoicesPaid: flag('Of a closed program: its invoices were paid').optional(),
    events: list(
      z.strictObject({
        id,
        name,
        kind: word(['sale', 'lead'], 'Kind'),
        pendingDays: int('Days of the pending period; 0: none'),
        autoDeny: flag('At its end the system denies').optional(),
        inquiry: flag('It is the standard event of claims'),
        commission: commission.optional(),
      }),
      'What it pays for',
    ),
  }),
  ProgramActivated: event('program-<programId>', 'A program is active again.', { id }),
  ProgramPaused: event('program-<programId>', 'A program is paused.', { id }),
  ProgramClosed: event('program-<programId>', 'A program is closed.', { id }),
  ProgramRemoved: event('program-<programId>', 'A program was removed.', { id }),
  SiteDefined: event('site-<siteId>', 'A site, as a whole.', {
    id,
    organisationId: int('Organisation of the publisher'),
    name,
    url: text('Address'),
  }),
  SiteRemoved: event('site-<siteId>', 'A site was removed.', { id }),
  SiteConnected: event('site-<siteId>', 'A site takes part in a program.', connection),
  SiteDisconnected: event('site-<siteId>', 'A site takes part no longer.', connection),
  FeedDefined: event('feedinfo-<feedId>', 'The definition of a feed, as a whole.', {
    id,
    programIds: list(z.int(), 'Programs; the first one determines the currency'),
    name,
    language: text('ISO 639-1'),
    active: flag('Whether it is active'),
    visible: flag('Whether publishers see it'),
    secret: flag('Whether it is secret'),
    sendToNewPF: flag('Setting of the platform'),
  }),
  FeedRemoved: event('feedinfo-<feedId>', 'A feed was removed.', { id }),
  CategoryDefined: event('category-<categoryId>', 'A category of the platform, as a whole.', {
    id: text('Id'),
    parentId: z.string().nullable().describe('The category above; null: none'),
    names: table(z.string(), 'Names by language, ISO 639-1'),
  }),
  CategoryRemoved: event('category-<categoryId>', 'A category was removed.', { id: text('Id') }),
  CategoryMapped: event('mapping-<feedId>', 'An advertiser’s category name was mapped.', {
    ...mapped,
    categoryId: text('Category of the platform'),
  }),
  CategoryUnmapped: event('mapping-<feedId>', 'An advertiser’s category name is mapped no longer.', mapped),
  ExchangeRatesPublished: event('exchange-rates', 'Exchange rates of a day.', {
    day: text('Day of the rates, YYYY-MM-DD'),
    rates: table(z.number(), 'What a euro costs, by ISO 4217 code'),
  }),
  ...SYSTEM_EVENTS,
};

/** By type. A map, since the types of other programs' events may be any text, such as `constructor`. */
export const EVENTS: ReadonlyMap<string, DescribedEvent> = new Map(Object.entries(TYPES));

/** The JSON Schemas of events as `affilog log export` and `GET /ops/1.0/log` write them, by type. */
export function eventSchemas(): ReadonlyMap<string, object> {
  return new Map(
    [...EVENTS].map(([type, { streams, description, data, meta }]) => {
      const recorded = z
        .strictObject({
          position: position('Position in the log'),
          stream: text(streams.map((stream) => `\`${stream}\``).join(' or ')),
          revision: int('Number of the event in its stream, from 0'),
          id: text('Unique id of the event, a UUID'),
          type: z.literal(type),
          data,
          meta,
        })
        .meta({ title: type, description });
      return [type, z.toJSONSchema(recorded, { override: withoutBounds })];
    }),
  );
}

/** Integers are safe integers, which readers need not know. */
function withoutBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.type !== 'integer') return;
  delete jsonSchema.minimum;
  delete jsonSchema.maximum;
}

/** What an event has that is not described, such as `data.price: expected number`; empty if all is well. */
export function problemsOf({ type, stream, data, meta }: RecordedEvent): readonly string[] {
  const described = EVENTS.get(type);
  if (described === undefined) return ['unknown type'];
  if (!isIn(stream, described)) return [`stream: expected ${described.streams.join(' or ')}`];
  return [...issuesIn('data', data, described.data), ...issuesIn('meta', meta, described.meta)];
}

function isIn(stream: string, { streams }: DescribedEvent): boolean {
  return streams.some((name) => {
    const [beginning = '', ...ids] = name.split('<');
    return ids.length === 0 ? stream === name : stream.startsWith(beginning) && stream !== beginning;
  });
}

function issuesIn(part: string, json: string, kind: z.ZodObject): readonly string[] {
  const value = jsonObject(json);
  if (value === undefined) return [`${part}: expected a JSON object`];
  const { error } = kind.safeParse(value);
  return error === undefined
    ? []
    : error.issues.map(({ path, message }) => `${[part, ...path].join('.')}: ${message}`);
}
