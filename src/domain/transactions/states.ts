/** Document 2, States and transitions: the states of a transaction, which are the message types of notifications. */
export const STATES = {
  1: { name: 'Tracked' },
  2: { name: 'Invalid' },
  3: { name: 'Paused' },
  4: { name: 'Pending' },
  5: { name: 'Tracked_Approved' },
  6: { name: 'Pending_Approved' },
  7: { name: 'Paused_Deleted' },
  8: { name: 'Deleted' },
  9: { name: 'Paid' },
} as const;

export type StateId = keyof typeof STATES;

/** How a transaction in this state counts for claims of its order (`docs/decisions.md#c5`). */
export const STANDINGS = {
  1: 'pending',
  2: 'refused',
  3: 'pending',
  4: 'pending',
  5: 'accepted',
  6: 'accepted',
  7: 'refused',
  8: 'refused',
  9: 'accepted',
} as const satisfies Readonly<Record<StateId, 'accepted' | 'pending' | 'refused'>>;

export type StateName = (typeof STATES)[StateId]['name'];

/** What moves a transaction from one state to another. */
export type Trigger =
  | 'fails validation'
  | 'program is paused'
  | 'event has a pending period'
  | 'event has no pending period'
  | 'program is closed without payment'
  | 'approved'
  | 'denied'
  | 'deleted'
  | 'paid';

interface Transition {
  readonly from: StateName;
  readonly on: Trigger;
  readonly to: StateName;
}

/**
 * The rows of Document 2, States and transitions, and four that are not shown there (`docs/decisions.md#t5`).
 */
export const TRANSITIONS = [
  { from: 'Tracked', on: 'fails validation', to: 'Invalid' },
  { from: 'Tracked', on: 'program is paused', to: 'Paused' },
  { from: 'Tracked', on: 'event has a pending period', to: 'Pending' },
  { from: 'Tracked', on: 'event has no pending period', to: 'Tracked_Approved' },
  { from: 'Paused', on: 'fails validation', to: 'Invalid' },
  { from: 'Paused', on: 'event has a pending period', to: 'Pending' },
  { from: 'Paused', on: 'event has no pending period', to: 'Tracked_Approved' },
  { from: 'Paused', on: 'program is closed without payment', to: 'Paused_Deleted' },
  { from: 'Pending', on: 'approved', to: 'Pending_Approved' },
  { from: 'Pending', on: 'denied', to: 'Deleted' },
  { from: 'Pending', on: 'deleted', to: 'Deleted' },
  // Not shown in the document.
  { from: 'Tracked_Approved', on: 'deleted', to: 'Deleted' },
  { from: 'Pending_Approved', on: 'deleted', to: 'Deleted' },
  { from: 'Tracked_Approved', on: 'paid', to: 'Paid' },
  { from: 'Pending_Approved', on: 'paid', to: 'Paid' },
] as const satisfies readonly Transition[];

/** The state that a trigger leads to; undefined where the table has no such transition. */
export function nextState(from: StateName, on: Trigger): StateName | undefined {
  return TRANSITIONS.find((one) => one.from === from && one.on === on)?.to;
}

const IDS = Object.fromEntries(Object.entries(STATES).map(([id, { name }]) => [name, Number(id)]));

export function stateIdOf(name: StateName): StateId {
  return IDS[name] as StateId;
}

/** Document 2, Denied reason IDs. */
export const DENIED_REASONS = {
  1: { name: 'Accepted manually' },
  2: { name: 'Accepted through batch' },
  3: { name: 'Accepted by auto-approve' },
  4: { name: 'Denied by auto-deny' },
  5: { name: 'Deleted by affiliate denial' },
  6: { name: 'Application or credit check denied' },
  7: { name: 'Fraudulent order or application' },
  8: { name: 'Duplication or sale accredited to another source' },
  9: { name: 'Order yet to be fulfilled' },
  10: { name: 'Returned goods' },
  11: { name: 'Out of stock' },
  12: { name: 'Unfulfilled payment' },
  13: { name: 'Invalid lead' },
  14: { name: 'Order cancelled' },
  15: { name: 'Callback number shown' },
  16: { name: 'Insufficient information' },
  17: { name: 'Order not found' },
  18: { name: 'Sale already accredited to publisher' },
  19: { name: 'Voucher incorrectly used' },
  21: { name: 'Accepted using API' },
  22: { name: 'Deleted using API' },
} as const;

export type DeniedReasonId = keyof typeof DENIED_REASONS;

/** The reasons of requested rulings: by default, and others that may be given (`docs/decisions.md#t5`). */
export const RULING_REASONS = {
  approve: { otherwise: 21, others: [1, 2] },
  deny: { otherwise: 22, others: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] },
  delete: { otherwise: 22, others: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] },
} as const satisfies Readonly<
  Record<string, { readonly otherwise: DeniedReasonId; readonly others: readonly DeniedReasonId[] }>
>;

/** Document 2, Event type IDs. */
export const EVENT_TYPES = {
  4: { name: 'Post-click lead', kind: 'lead', contact: 'click' },
  5: { name: 'Post-click sale', kind: 'sale', contact: 'click' },
  9: { name: 'Post-impression lead', kind: 'lead', contact: 'impression' },
  10: { name: 'Post-impression sale', kind: 'sale', contact: 'impression' },
} as const;

export type EventTypeId = keyof typeof EVENT_TYPES;
