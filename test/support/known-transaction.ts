/** A transaction of the reference model (`transaction-model.ts`), and how it is listed. */

export type Listed = Readonly<Record<string, unknown>>;

export interface KnownTransaction {
  readonly id: string;
  readonly organisationId: number;
  /** Attributes that never change. */
  readonly fixed: Listed;
  /** What a repeated report must agree with. */
  readonly reported: Listed;
  readonly programId: number;
  readonly eventId: number;
  readonly siteId: number;
  readonly wasHeld: boolean;
  readonly isVisitLate: boolean;
  /** The commission for an order value by the terms of the report. */
  readonly byTerms: (orderValue: number) => number;
  readonly time: number;
  readonly reportInfo?: string;
  readonly visitorId?: string;
  /** Ten-thousandths. */
  orderValue: number;
  commission: number;
  state: number;
  events: number;
  due?: { readonly at: number; readonly deny: boolean };
  ruling?: { readonly at: number; readonly reason: number };
  paymentId?: number;
  /** After each event. */
  readonly history: Listed[];
}

const NAMES = [
  ...['', 'Tracked', 'Invalid', 'Paused', 'Pending', 'Tracked_Approved'],
  ...['Pending_Approved', 'Paused_Deleted', 'Deleted', 'Paid'],
];

export const iso = (time: number): string => new Date(time).toISOString();

/** By an approval or denial; returns the state. */
export function rule(known: KnownTransaction, state: number, reason: number, now: number): number {
  known.ruling = { at: now, reason };
  return enter(known, state, now);
}

/** Returns the state. */
export function enter(known: KnownTransaction, state: number, now: number): number {
  known.state = state;
  known.events += 1;
  known.history.push({
    ...known.fixed,
    ...amountsOf(known),
    messageTypeId: state,
    stateName: NAMES[state],
    sequenceNumber: String(known.events),
    changed: iso(now),
    ...attributesOf(known),
  });
  return state;
}

/** An amendment is no transition: the number is that of the last one. */
export function amended(known: KnownTransaction, now: number): number {
  known.events += 1;
  known.history.push({ ...known.history.at(-1), ...amountsOf(known), changed: iso(now) });
  return known.state;
}

function amountsOf({ orderValue, commission }: KnownTransaction): Listed {
  return { orderValue: orderValue / 10_000, publisherCommission: commission / 10_000 };
}

/** Document 2, Message attributes; decisions N2. */
function attributesOf({
  id,
  state,
  due,
  ruling,
  paymentId,
  reportInfo,
  visitorId,
}: KnownTransaction): Listed {
  const hasPeriod = [4, 6, 8].includes(state);
  const hasVisit = ![6, 8].includes(state);
  return {
    ...(state === 1 ? {} : { transactionId: id }),
    ...(hasPeriod && due !== undefined
      ? { [due.deny ? 'autoDenyDate' : 'autoApproveDate']: iso(due.at) }
      : {}),
    ...([6, 8].includes(state) && ruling !== undefined
      ? { pendingStatusDateChanged: iso(ruling.at), deniedReasonId: ruling.reason }
      : {}),
    ...(state === 9 ? { paymentId } : {}),
    ...(hasVisit && reportInfo !== undefined ? { reportInfo } : {}),
    ...(hasVisit && visitorId !== undefined ? { visitorId } : {}),
  };
}
