import { CLAIMS } from '../../services/claims/operations';
import { type OperationText } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { PAGE_HEADERS, sizeKey } from '../../wire/keys/pages';

const ids = { type: INTEGER, multiple: true } as const;

export const networkClaimKeys = {
  statusId: { ...ids, description: 'Statuses; by default those that operators decide, 100 and 105' },
  programId: { ...ids, description: 'Programs' },
  claimId: { ...ids, description: 'Ids of claims' },
  offset: { type: INTEGER, description: 'Claims to skip' },
  limit: sizeKey('Number of claims'),
} as const satisfies KeyTable;

export type NetworkClaimKeys = Keys<typeof networkClaimKeys>;

export const releaseKeys = {
  versionNo: { type: INTEGER, required: true, description: 'The latest version of the claim' },
} as const satisfies KeyTable;

export const rejectKeys = {
  ...releaseKeys,
  statusId: { type: INTEGER, required: true, description: 'A status that rejects, such as 211' },
  message: { type: TEXT, description: 'Message for its publisher; required of 111 and 201' },
} as const satisfies KeyTable;

/** Of the demonstration, where both are pending. */
const [TO_RELEASE, TO_REJECT] = [17, 18];

const claimId = (example: number) => ({ id: { type: INTEGER, description: 'Id of the claim', example } });

/** Claims that are pending at the network, for operators (`docs/decisions.md#c14`). */
export const networkClaimOperations = {
  list: {
    id: 'listNetworkClaims',
    summary: 'List the claims that operators decide',
    description: 'Those that are pending at the network, or in any other statuses; the oldest first.',
    example: { limit: 3 },
    answer: CLAIMS,
    sends: PAGE_HEADERS,
  },
  release: {
    id: 'releaseClaim',
    summary: 'Release a claim to its advertiser',
    description: 'A claim of status 100 or 105 awaits approval then.',
    example: { versionNo: 0 },
    path: claimId(TO_RELEASE),
  },
  reject: {
    id: 'rejectClaim',
    summary: 'Reject a claim',
    description: 'A claim of status 100 or 105.',
    example: { versionNo: 0, statusId: 211 },
    path: claimId(TO_REJECT),
  },
} as const satisfies Readonly<Record<string, OperationText>>;
