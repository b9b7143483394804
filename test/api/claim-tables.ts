/** The tables of Document 3 that tests are measured by. */

const rows = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

/** Claim as listed. */
export const LISTED_CLAIM = rows(
  'claimId timeStamp statusId statusName statusState statusMessage statusChanged publisherId affiliateSiteId',
  'siteName programId programName timeStampEvent eventId orderNumber orderValue adjustedOrderValue epi epi2',
  'trackingUrl productName expectedCommission adjustedExpectedCommission proofOfClaims advertiserInformation',
  'daysToAutoApprove versionNo eventName',
);

/** Of those, the ones that all claims have. */
export const ALWAYS_LISTED = rows(
  'claimId timeStamp statusId statusName statusState publisherId affiliateSiteId siteName programId programName',
  'timeStampEvent eventId orderNumber orderValue versionNo',
);

/** Claim posted by a publisher: the required fields, and the others. */
export const POSTED_CLAIM = {
  required: rows('affiliateSiteId programId timeStampEvent eventId orderNumber orderValue'),
  optional: rows('epi epi2 trackingUrl productName proofOfClaims expectedCommission advertiserInformation'),
} as const;

/** Claim update posted by an advertiser; on legacy paths there is no `versionNo`. */
export const POSTED_RULING = {
  required: rows('claimId statusIdClaim versionNo'),
  optional: rows('statusMessageClaim orderValue expectedCommission'),
} as const;

/** Claim update posted by a publisher. */
export const POSTED_REVISION = {
  required: rows('claimId affiliateSiteId programId timeStampEvent orderNumber orderValue eventId versionNo'),
  optional: rows('epi epi2 proofOfClaims advertiserInformation expectedCommission trackingUrl productName'),
} as const;

/** Status. */
export const STATUS_FIELDS = rows('statusId statusName statusState requireStatusMessage');

/** States and transitions: the status table. */
export const STATUS_TABLE: readonly (readonly [number, string, string, boolean])[] = [
  [1, 'Reported', 'REPORTED', false],
  [2, 'Awaiting approval', 'PENDING_ADVERTISER', false],
  [3, 'Approved', 'APPROVED', false],
  [100, 'CANNOT_VALIDATE', 'PENDING_TRADEDOUBLER', false],
  [101, 'Missing parameter', 'REJECTED', false],
  [102, 'Program not found', 'REJECTED', false],
  [103, 'Program not active', 'REJECTED', false],
  [104, 'Tariff not found', 'REJECTED', false],
  [105, 'Commission mismatch', 'PENDING_TRADEDOUBLER', false],
  [106, 'Already tracked', 'REJECTED', false],
  [107, 'Already tracked but pending', 'REJECTED', false],
  [108, 'Already tracked but not accepted', 'REJECTED', false],
  [109, 'Already tracked for other site', 'REJECTED', false],
  [110, 'Already tracked for other site but pending', 'REJECTED', false],
  [111, 'Already tracked for other publisher', 'REJECTED', true],
  [112, 'Invalid site id', 'REJECTED', false],
  [113, 'Site not approved', 'REJECTED', false],
  [114, 'Advertiser does not accept claims', 'REJECTED', false],
  [115, 'Transaction date in future', 'REJECTED', false],
  [116, 'Invalid event type', 'REJECTED', false],
  [201, 'Attributed to another marketing channel', 'REJECTED', true],
  [202, 'Application/credit check denied', 'REJECTED', false],
  [204, 'Fraudulent order/application', 'REJECTED', false],
  [205, 'Insufficient information', 'REJECTED', false],
  [206, 'Invalid order number', 'REJECTED', false],
  [207, 'Order Cancelled or returned', 'REJECTED', false],
  [208, 'Transaction cannot be traced', 'REJECTED', false],
  [209, 'Transaction not fully completed online', 'REJECTED', false],
  [210, 'Voucher/discount code used', 'REJECTED', false],
  [211, 'Claim does not meet Advertiser guidelines', 'REJECTED', false],
  [212, 'Already attributed to another publisher', 'REJECTED', false],
  [213, 'Already tracked', 'REJECTED', false],
];

/** The messages of status 201. */
export const CHANNELS = ['Display', 'Search', 'Retargeting', 'Email', 'Offline', 'Other'] as const;

/** Errors: the codes. */
export const CLAIM_ERRORS = rows(
  '200 210 211 212 213 230 240 260 265 270 291 300 301 302 303 304 306 370 371 380 394 395 396 397 398 399 400',
  '402 403 404 405 410 420 430',
).map((code) => `UTS_${code}`);

/** List keys of the current path. */
export const CLAIM_KEYS = rows(
  'pretty statusId minUpdateDate maxUpdateDate minTransactionDate maxTransactionDate programId claimId tdconnect',
  'offset limit sortBy sortOrder',
);

/** Those that the legacy list lacks (Legacy advertiser paths). */
export const NOT_LEGACY_KEYS = rows('minTransactionDate maxTransactionDate tdconnect');
