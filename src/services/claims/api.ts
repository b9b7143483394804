import { operationsById, type PostedShape, shape } from '../../wire/api/description';
import { bareErrorList, REFUSALS } from '../../wire/api/errors';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
import { SINCE_HEADERS } from '../../wire/keys/pages';
import { INTEGER } from '../../wire/keys/keys';
import { elementSchema, schemaFiles, schemaOf } from '../../wire/record/document';
import { type Kind, record } from '../../wire/record/record';
import { type SchemaFiles } from '../../wire/xml/xsd';
import { checkedClaims, claimStatuses, claimVersions, legacyClaims, listedClaims } from './output';
import {
  postedChecks,
  postedClaim,
  postedClaims,
  postedLegacyRulings,
  postedRuling,
  postedUpdates,
} from './claims-body';

export const CLAIMS = { ...shape('Claims', listedClaims, 'claims'), hasAllColumns: true } as const;
const STATUSES_LIST = shape('ClaimStatuses', claimStatuses, 'claimStatuses');

/** Files of the XML schemas of posted lists; `common` describes the elements of fields. */
const CLAIM_FILES = {
  input: 'ClaimsInput_v1_0.xsd',
  legacyInput: 'LegacyClaimsInput_v1_0.xsd',
  common: 'ClaimsCommon_v1_0.xsd',
} as const;

/** A posted list: an object with it in JSON, its root element in XML (Document 3, Claim posted by a publisher). */
function posted(
  name: string,
  root: string,
  kind: Kind,
  {
    file = CLAIM_FILES.input,
    ...examples
  }: NonNullable<PostedShape['examples']> & { readonly file?: string },
): PostedShape {
  return {
    name,
    kind: record({ [root]: { kind, required: true, description: 'At least one, at most 1000' } }),
    xml: {
      file,
      root,
      attributes: {
        version: '1.0',
        xmlns: 'urn:com:affilog:uts:openapi:parsing:xml:input',
        'xmlns:cm': 'urn:com:affilog:uts:openapi:parsing:xml:common',
      },
      kind,
    },
    examples,
  };
}

/** An order is claimed once, and a claim updated once: the example of each format has another order number or id. */
const CLAIM = {
  affiliateSiteId: 1101,
  programId: 101,
  timeStampEvent: '2026-02-20',
  eventId: 1011,
  orderNumber: 'C-1001',
  orderValue: 129.9,
} as const;

const csvOf = (orderNumber: string): string =>
  'affiliateSiteId,programId,timeStampEvent,eventId,orderNumber,orderValue\r\n' +
  `1101,101,2026-02-20,1011,${orderNumber},129.90\r\n`;

const CLAIM_ID = (example: number) => ({ id: { type: INTEGER, description: 'Id of the claim', example } });

const LISTED = {
  'X-Total-Count': 'The number of all claims that match',
  'X-Page-Size': 'Claims in the answer at most, if the request asked for more than 1000',
} as const;

/** The operations of Document 3, Endpoints, and those beyond it (`docs/decisions.md#c13`). */
export const claimApi = operationsById({
  createClaims: {
    summary: 'File claims',
    description:
      'All of them or none: if one is refused, nothing is stored, and the answer has all errors. Each claim is ' +
      'validated at once; the list shows its status. CSV has fields as columns. At most 1,000 claims and 900 KiB.',
    body: posted('PostedClaims', 'claims', postedClaims, { json: { claims: [CLAIM] }, csv: csvOf('C-1003') }),
    status: 200,
    sends: IGNORED_FIELDS,
  },
  listClaims: {
    summary: 'List and export claims',
    description:
      'Publishers see their claims, advertisers those of their programs. CSV has a column for each field.',
    example: { limit: 3 },
    answer: CLAIMS,
    sends: { ...LISTED, ...SINCE_HEADERS },
  },
  checkClaims: {
    summary: 'Check claims without filing them',
    description: 'The status that each claim would have, in order. Nothing is stored.',
    body: posted('PostedClaims', 'claims', postedChecks, { csv: csvOf('C-1004') }),
    answer: shape('CheckedClaims', checkedClaims, 'checks'),
    sends: IGNORED_FIELDS,
  },
  deleteClaim: {
    summary: 'Delete a claim',
    description: 'As long as its advertiser has not ruled on it, and the system has not approved it.',
    example: { versionNo: 0 },
    path: CLAIM_ID(60),
    status: 200,
  },
  listClaimVersions: {
    summary: 'List the versions of a claim',
    description:
      'The claim after each change, oldest first, with its time and who made it: at most the last 1,000.',
    path: CLAIM_ID(57),
    answer: shape('ClaimVersions', claimVersions, 'versions'),
  },
  updateClaims: {
    summary: 'Update claims',
    description:
      'Advertisers approve or reject claims that await approval, publishers correct claims that are not approved or ' +
      'rejected by the advertiser. If one of the updates is refused, nothing is changed, unless another request was ' +
      'faster: then the error names the update, and the others are executed. At most 1,000 updates and 900 KiB.',
    body: posted('PostedClaimUpdates', 'claimUpdates', postedUpdates, {
      json: { claimUpdates: [{ claimId: 56, versionNo: 0, statusIdClaim: 3 }] },
    }),
    status: 200,
    sends: IGNORED_FIELDS,
  },
  listClaimStatuses: { summary: 'List the statuses of claims', answer: STATUSES_LIST },
  listLegacyClaims: {
    isDeprecated: true,
    summary: 'List claims, on the legacy path',
    example: { limit: 3 },
    answer: shape('LegacyClaims', legacyClaims, 'claims'),
    sends: LISTED,
  },
  updateLegacyClaims: {
    isDeprecated: true,
    summary: 'Approve or reject claims, on the legacy path',
    description: 'Claims that their publisher has not changed since: version 0.',
    body: posted('PostedLegacyUpdates', 'claimUpdates', postedLegacyRulings, {
      file: CLAIM_FILES.legacyInput,
      json: { claimUpdates: [{ claimId: 58, statusIdClaim: 3 }] },
    }),
    answer: REFUSALS,
    sends: IGNORED_FIELDS,
  },
  listLegacyClaimStatuses: {
    isDeprecated: true,
    summary: 'List the statuses of claims, on the legacy path',
    answer: STATUSES_LIST,
  },
});

/**
 * The XML schemas of claims. Posted lists have a namespace, and elements of fields one of their own (Document 3, Claim
 * posted by a publisher). Error lists of a deletion have a schema of their own too (Document 3, Errors).
 */
export const claimSchemas: SchemaFiles = (vendor) => {
  const {
    [CLAIM_FILES.input]: input,
    [CLAIM_FILES.legacyInput]: legacyInput,
    ...others
  } = schemaFiles(claimApi);
  const namespaceOf = (part: string) => `urn:com:${vendor}:uts:openapi:parsing:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: CLAIM_FILES.common };
  const posted = { elements: {}, namespace: namespaceOf('input'), imports: { cm: common } };
  return {
    [CLAIM_FILES.common]: { ...COMMON, namespace: common.namespace },
    [CLAIM_FILES.input]: { ...posted, ...input },
    [CLAIM_FILES.legacyInput]: { ...posted, ...legacyInput },
    'ClaimDeletionErrors_v1_0.xsd': schemaOf(bareErrorList, { file: '' }, 'answered'),
    ...others,
  };
};

const COMMON = elementSchema({ ...postedRuling.fields, ...postedClaim.fields }, 'posted');
