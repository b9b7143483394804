import { type Field, type Fields, listOf, type PostedOf, prefixed, record } from '../../wire/record/record';
import { atMost, day, integer, text, url } from '../../wire/record/kinds';
import { money } from '../../wire/record/minor-units';

/** Claims, or updates, in one post (`docs/decisions.md#c3`). */
export const MOST = 1000;

/** Limits of texts: `docs/decisions.md#c2`. */
const information = atMost(255, text({ orInteger: true }));

/** Document 3, Claim posted by a publisher. */
const CLAIM = {
  affiliateSiteId: { kind: integer(), required: true, description: 'Site of the publisher', example: 1101 },
  programId: { kind: integer(), required: true, description: 'Program', example: 101 },
  timeStampEvent: {
    kind: day(),
    required: true,
    description: 'Date of the transaction',
    example: '2026-02-20',
  },
  eventId: {
    kind: integer(),
    required: true,
    description: 'Event of the program; in most markets the inquiry event, 17',
    example: 1011,
  },
  orderNumber: {
    kind: atMost(240, text({ orInteger: true, isId: true })),
    required: true,
    description: 'Order number',
    example: 'C-1002',
  },
  orderValue: { kind: money(), required: true, description: 'Value of the order', example: 129.9 },
  epi: { kind: information, description: 'Extra publisher information' },
  epi2: { kind: information, description: 'Further publisher information' },
  trackingUrl: { kind: atMost(2048, text()), description: 'Tracking URL or click tag that was used' },
  productName: { kind: information, description: 'Name or description of the product' },
  proofOfClaims: { kind: atMost(2048, url()), description: 'URL of a proof' },
  expectedCommission: {
    kind: money(),
    description: 'Expected commission: for the inquiry event, and no other',
  },
  advertiserInformation: { kind: atMost(4000, text()), description: 'Information for the advertiser' },
} as const satisfies Fields;

export const postedClaim = record(prefixed('cm', CLAIM), { name: 'PostedClaim' });

export type PostedClaim = PostedOf<typeof postedClaim>;

const CLAIM_ID = { kind: integer(), required: true, description: 'Id of the claim', example: 57 } as const;
const VERSION_NO = {
  kind: integer(),
  required: true,
  description: 'The version that is updated: the latest one',
  example: 0,
} as const;

/** Document 3, Claim update posted by an advertiser; on legacy paths. */
const LEGACY_RULING = {
  claimId: CLAIM_ID,
  statusIdClaim: { kind: integer(), required: true, description: 'New status', example: 3 },
  statusMessageClaim: {
    kind: atMost(255, text()),
    description: 'Message; required of status 201: Display, Search, Retargeting, Email, Offline or Other',
  },
  orderValue: { kind: money(), description: 'Corrected order value, with status 3' },
  expectedCommission: { kind: money(), description: 'Corrected commission, with status 3' },
} as const satisfies Fields;

export const postedLegacyRuling = record(
  prefixed('cm', { ...LEGACY_RULING, claimId: { ...CLAIM_ID, example: 59 } }),
  { name: 'PostedLegacyUpdate' },
);

/** Document 3, Claim update posted by an advertiser. */
export const postedRuling = record(prefixed('cm', { ...LEGACY_RULING, versionNo: VERSION_NO }));

/** Document 3, Claim update posted by a publisher. */
export const postedRevision = record(prefixed('cm', { claimId: CLAIM_ID, ...CLAIM, versionNo: VERSION_NO }));

/** What either of them posts: for descriptions only. */
export const postedUpdate = record(
  prefixed('cm', {
    claimId: CLAIM_ID,
    versionNo: VERSION_NO,
    statusIdClaim: { ...of('advertisers', LEGACY_RULING.statusIdClaim), example: 3 },
    statusMessageClaim: of('advertisers', LEGACY_RULING.statusMessageClaim),
    ...Object.fromEntries(Object.entries(CLAIM).map(([name, field]) => [name, of('publishers', field)])),
    orderValue: {
      kind: money(),
      description: 'Of publishers: value of the order; of advertisers: corrected',
    },
    expectedCommission: { kind: money(), description: 'Expected commission; of advertisers: corrected' },
  }),
  { name: 'PostedClaimUpdate' },
);

/** A field of one of them, which the other does not post. */
function of(who: string, { kind, description }: Field): Field {
  return { kind, description: `${description}; of ${who}` };
}

export const postedClaims = listOf(postedClaim, { each: 'claim', most: MOST });

/** The same with the example of an order that nobody claims. */
export const postedChecks = listOf(
  record(
    { ...postedClaim.fields, orderNumber: { ...postedClaim.fields.orderNumber, example: 'C-1004' } },
    { name: 'PostedClaim' },
  ),
  { each: 'claim', most: MOST },
);

export const postedUpdates = listOf(postedUpdate, { each: 'claimUpdate', most: MOST });
export const postedLegacyRulings = listOf(postedLegacyRuling, { each: 'claimUpdate', most: MOST });
