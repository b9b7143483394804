/** Document 3, States and transitions: the status table. `name` and `state` as they are answered. */
export const STATUSES = {
  1: { name: 'Reported', state: 'REPORTED' },
  2: { name: 'Awaiting approval', state: 'PENDING_ADVERTISER' },
  3: { name: 'Approved', state: 'APPROVED' },
  100: { name: 'CANNOT_VALIDATE', state: 'PENDING_TRADEDOUBLER' },
  101: { name: 'Missing parameter', state: 'REJECTED' },
  102: { name: 'Program not found', state: 'REJECTED' },
  103: { name: 'Program not active', state: 'REJECTED' },
  104: { name: 'Tariff not found', state: 'REJECTED' },
  105: { name: 'Commission mismatch', state: 'PENDING_TRADEDOUBLER' },
  106: { name: 'Already tracked', state: 'REJECTED' },
  107: { name: 'Already tracked but pending', state: 'REJECTED' },
  108: { name: 'Already tracked but not accepted', state: 'REJECTED' },
  109: { name: 'Already tracked for other site', state: 'REJECTED' },
  110: { name: 'Already tracked for other site but pending', state: 'REJECTED' },
  111: { name: 'Already tracked for other publisher', state: 'REJECTED', needsMessage: true },
  112: { name: 'Invalid site id', state: 'REJECTED' },
  113: { name: 'Site not approved', state: 'REJECTED' },
  114: { name: 'Advertiser does not accept claims', state: 'REJECTED' },
  115: { name: 'Transaction date in future', state: 'REJECTED' },
  116: { name: 'Invalid event type', state: 'REJECTED' },
  201: { name: 'Attributed to another marketing channel', state: 'REJECTED', needsMessage: true },
  202: { name: 'Application/credit check denied', state: 'REJECTED' },
  204: { name: 'Fraudulent order/application', state: 'REJECTED' },
  205: { name: 'Insufficient information', state: 'REJECTED' },
  206: { name: 'Invalid order number', state: 'REJECTED' },
  207: { name: 'Order Cancelled or returned', state: 'REJECTED' },
  208: { name: 'Transaction cannot be traced', state: 'REJECTED' },
  209: { name: 'Transaction not fully completed online', state: 'REJECTED' },
  210: { name: 'Voucher/discount code used', state: 'REJECTED' },
  211: { name: 'Claim does not meet Advertiser guidelines', state: 'REJECTED' },
  212: { name: 'Already attributed to another publisher', state: 'REJECTED' },
  213: { name: 'Already tracked', state: 'REJECTED' },
} as const;

export type StatusId = keyof typeof STATUSES;

/** Those of the legacy list (Document 3, States and transitions). */
export const LAST_LEGACY_STATUS = 211;

export const AWAITING_APPROVAL = 2;
export const APPROVED = 3;
export const CANNOT_VALIDATE = 100;
export const COMMISSION_MISMATCH = 105;

/** What screening may find: it awaits approval, or one of 1XX. */
export type ScreenedStatusId = Extract<
  StatusId,
  2 | 100 | 101 | 102 | 103 | 104 | 105 | 106 | 107 | 108 | 109 | 110 | 111 | 112 | 113 | 114 | 115 | 116
>;

/** Screening has found the order among the transactions. */
export type TrackedStatusId = Extract<StatusId, 106 | 107 | 108 | 109 | 110 | 111>;

/** What an advertiser may set (`docs/decisions.md#c9`). */
export type RulingStatusId = Exclude<StatusId, ScreenedStatusId | 1>;

/** What operators may decide: that it awaits approval, or any rejection (`docs/decisions.md#c14`). */
export type ReviewStatusId = Exclude<StatusId, 1 | 3 | 100 | 105>;

/** Whether a claim is pending at the network, where operators decide. */
export function isAtNetwork(status: StatusId): boolean {
  return STATUSES[status].state === 'PENDING_TRADEDOUBLER';
}

/** Whether a publisher may update the claim (Document 3, Moves that are shown). */
export function isOpen(status: StatusId): boolean {
  return status === AWAITING_APPROVAL || (status >= 100 && status < 200);
}

/** The messages of status 201 (Document 3, Claim update posted by an advertiser). */
export const CHANNELS = ['Display', 'Search', 'Retargeting', 'Email', 'Offline', 'Other'] as const;
