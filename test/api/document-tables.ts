/**
 * The tables of Documents 1 and 2, and the limits of Document 3, that tests are measured by: every row is to be found
 * in a test.
 */

const rows = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

/** Document 1, Search products, query keys. */
export const SEARCH_KEYS = rows(
  'token q fid currency sourceproducturl minPrice maxPrice minUpdateDate maxUpdateDate tdCategoryId category',
  'brand spId tdId ean mpn sku upc isbn language field orderBy page pageSize limit groupOffersByProduct',
  'priceHistory dateOutputFormat availability condition model manufacturer shippingCost promoText warranty',
  'deliveryTime weight size techSpec minInStock maxInStock pretty jsonp',
);

/** Document 1, Product (posted by an advertiser). */
export const POSTED_FIELDS = rows(
  'sourceProductId name description productUrl price productImage categories availability brand condition',
  'deliveryTime identifiers ean sku upc isbn mpn inStock manufacturer model promoText shippingCost',
  'shortDescription size techSpecs warranty weight fields',
);

/** Document 1, Product (search and bulk output). */
export const OUTPUT_FIELDS = rows(
  'name description productImage categories language identifiers fields offers brand manufacturer model size',
  'techSpecs warranty weight promoText shortDescription inStock programLogo groupingId',
);

/** Document 1, Offer object. */
export const OFFER_FIELDS = rows(
  'id feedId sourceProductId programName productUrl sourceProductUrl price priceHistory modified',
  'availability deliveryTime condition shippingCost',
);

/** Document 1, Create or update products; Replace a feed. */
export const CREATE_KEYS = rows('token fid mode');

/** Document 1, Delete products. */
export const DELETE_KEYS = rows('token fid spId deleteAll');

/** Document 1, CSV export. */
export const CSV_KEYS = rows('format csvSeparators csvEmbrace csvFlattenFields');

/** Document 1, Bulk download of a feed. */
export const DOWNLOAD_KEYS = rows('token fid sourceproducturl page pageSize pretty jsonp');

/** Document 1, Feed last-updated time. */
export const LAST_UPDATED_KEYS = rows('token fid pretty jsonp');

/** Document 1, Category tree. */
export const CATEGORY_KEYS = rows('token language jsonp');

/** Document 1, Category mapping status. */
export const MAPPING_KEYS = rows('token fid state format pretty jsonp');

/** Document 1, Feed list. */
export const FEED_KEYS = rows('token pretty programId jsonp');

/** Document 2, Voucher posted by an advertiser. */
export const VOUCHER_FIELDS = rows(
  'title programId voucherTypeId code shortDescription description startDate endDate sourceId siteIds',
  'landingUrl publishStartDate publishEndDate publisherInformation discountAmount isPercentage languageId',
);

/** Document 2, Voucher returned by the list operation. */
export const LISTED_FIELDS = rows(
  'id programId programName code updateDate publishStartDate publishEndDate startDate endDate title',
  'shortDescription description voucherTypeId defaultTrackUri siteSpecific landingUrl discountAmount',
  'isPercentage publisherInformation languageId exclusive currencyId logoPath',
);

/** Document 2, List keys; token is of all. */
export const VOUCHER_KEYS = rows(
  'id maxStartDate minEndDate dateOutputFormat programId keywords voucherTypeId siteSpecific siteId pageSize',
  'page random languageId jsonp',
);

/** The Limits of each document: what is cited as `(Document 1, Limits: Grace period)`. */
export const LIMITS = {
  1: ['Maximum products per search', 'Bulk download repeats', 'Grace period', 'Token length', 'Price format'],
  2: [
    'Voucher title',
    'Voucher short description',
    'Voucher description',
    'Voucher code',
    'Landing URL',
    'endDate',
    'List pageSize default',
    'List page default',
    'Token length',
  ],
  3: ['Order number length', 'Default sort', 'Token length', 'Statuses an advertiser may set'],
} as const;

/** Document 2, Voucher types. */
export const VOUCHER_TYPES = [1, 2, 3, 4, 5, 6];

/** Errors of module Open API in both documents: code and HTTP status. */
export const OPEN_API_ERRORS = ['1 400', '2 403', '3 404', '4 404', '5 500', '6 404', '7 404'];

/** Document 2, States and transitions: message types. */
export const MESSAGE_TYPES = [
  [1, 'Tracked'],
  [2, 'Invalid'],
  [3, 'Paused'],
  [4, 'Pending'],
  [5, 'Tracked_Approved'],
  [6, 'Pending_Approved'],
  [7, 'Paused_Deleted'],
  [8, 'Deleted'],
  [9, 'Paid'],
] as const;

/** Document 2, Message attributes. */
export const MESSAGE_ATTRIBUTES: readonly string[] = rows(
  'adId advertiserId autoApproveDate autoDenyDate batchId currencyId deniedReasonId epi epi2 eventId eventTypeId ' +
    'locationId mediaCost messageTypeId orderNumber orderValue paymentId pendingStatusDateChanged productId ' +
    'productName productNumber productQuantity productValue programCountry programId publisherCommission ' +
    'tdCommission reportInfo sequenceNumber siteId siteName timeOfEvent timeOfVisit transactionId ' +
    'legacyTransactionId visitorId',
);

/** Document 2, Event type IDs. */
export const EVENT_TYPES = [
  [4, 'Post-click lead'],
  [5, 'Post-click sale'],
  [9, 'Post-impression lead'],
  [10, 'Post-impression sale'],
] as const;

/** Document 2, Denied reason IDs. */
export const DENIED_REASONS: readonly (readonly [number, string])[] = [
  [1, 'Accepted manually'],
  [2, 'Accepted through batch'],
  [3, 'Accepted by auto-approve'],
  [4, 'Denied by auto-deny'],
  [5, 'Deleted by affiliate denial'],
  [6, 'Application or credit check denied'],
  [7, 'Fraudulent order or application'],
  [8, 'Duplication or sale accredited to another source'],
  [9, 'Order yet to be fulfilled'],
  [10, 'Returned goods'],
  [11, 'Out of stock'],
  [12, 'Unfulfilled payment'],
  [13, 'Invalid lead'],
  [14, 'Order cancelled'],
  [15, 'Callback number shown'],
  [16, 'Insufficient information'],
  [17, 'Order not found'],
  [18, 'Sale already accredited to publisher'],
  [19, 'Voucher incorrectly used'],
  [21, 'Accepted using API'],
  [22, 'Deleted using API'],
];

/** Document 1, Errors. */
export const PRODUCT_ERRORS = rows(
  'PF_200 PF_210 PF_230 PF_240 PF_250 PF_260 PF_270 PF_280 PF_290 PF_300 PF_391 PF_392 PF_430',
).map((code) => `${code} 400`);

/** Document 2, Errors: voucher creation. */
export const VOUCHER_ERRORS = ['101 400', '102 400', '103 400'];

/** Generic HTTP errors of Document 1; Document 2 has them but 429. */
export const HTTP_ERRORS = [400, 404, 405, 406, 415, 429, 500];

/** The rows that no test names. */
export function missingFrom<Row>(table: readonly Row[], named: Iterable<Row>): Row[] {
  const found = new Set(named);
  return table.filter((row) => !found.has(row));
}
