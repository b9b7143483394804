import { type Directory } from '../../network/directory';
import { commissionOf, type Program, termsOf } from '../../network/programs';
import { type ClaimContent, type ClaimOrigin, type Screening } from './claim';
import { AWAITING_APPROVAL, CANNOT_VALIDATE, type ScreenedStatusId, type TrackedStatusId } from './statuses';
import { DAY } from '../../wire/date';

/** A transaction of the claim's advertiser with the order number of the claim, of any program and event. */
export interface OrderTransaction {
  readonly transactionId: string;
  readonly programId: number;
  readonly siteId: number;
  /** Absent for an unknown site. */
  readonly publisherId?: number;
  /** Approved or paid; Tracked, Paused or Pending; or Invalid or deleted. */
  readonly standing: 'accepted' | 'pending' | 'refused';
}

/** What a claim is screened against. */
export interface ScreeningParts {
  readonly directory: Pick<Directory, 'programs'>;
  /** Those with its order number; unavailable if the read model cannot be read. */
  readonly orders: readonly OrderTransaction[] | 'unavailable';
  readonly now: Date;
}

/** Whose claim it is, and what it contains. */
export interface Claimed {
  readonly publisherId: number;
  readonly claim: ClaimContent;
}

/** Screens a claim: the first row that applies is its status (`docs/decisions.md#c5`). */
export function screen({ publisherId, claim }: Claimed, parts: ScreeningParts): Screening {
  const { directory, orders, now } = parts;
  const facts = factsOf(claim, directory, now);
  const wrong = RULES.find(([, applies]) => applies(facts));
  if (wrong !== undefined) return { statusId: wrong[0] };
  if (orders === 'unavailable') return { statusId: CANNOT_VALIDATE };
  const { programId, siteId } = claim;
  const tracked = findTracked({ publisherId, programId, siteId }, orders);
  return tracked === undefined ? awaiting(facts.program, now) : trackedStatus(tracked);
}

/** The status of a claim whose order is tracked already. */
export function trackedStatus({ statusId }: AlreadyTracked): {
  readonly statusId: TrackedStatusId;
  readonly message?: string;
} {
  return statusId === 111 ? { statusId, message: 'Tracked for another publisher' } : { statusId };
}

/** What the rules compare. */
interface Facts {
  readonly claim: ClaimContent;
  readonly program: Program | undefined;
  readonly event: Program['events'][number] | undefined;
  readonly hasSite: boolean;
  readonly isConnected: boolean;
  /** `YYYY-MM-DD`, UTC. */
  readonly today: string;
}

function factsOf(claim: ClaimContent, { programs }: Pick<Directory, 'programs'>, now: Date): Facts {
  const { programId, eventId, siteId } = claim;
  const program = programs.get(programId);
  return {
    claim,
    program,
    event: program?.events.find(({ id }) => id === eventId),
    hasSite: programs.site(siteId) !== undefined,
    isConnected: programs.connectionsOf(siteId).has(programId),
    today: now.toISOString().slice(0, 10),
  };
}

const RULES: readonly (readonly [ScreenedStatusId, (facts: Facts) => boolean])[] = [
  [101, ({ claim, event }) => event?.inquiry === true && claim.expectedCommission === undefined],
  [102, ({ program }) => program === undefined],
  [103, ({ program }) => program?.status !== 'active'],
  [114, ({ program }) => program?.acceptsClaims !== true],
  [112, ({ hasSite }) => !hasSite],
  [113, ({ isConnected }) => !isConnected],
  [115, ({ claim, today }) => claim.transactionDate > today],
  [116, ({ event }) => event === undefined],
  [104, ({ program, event }) => !isPaidFor(event, program)],
  [105, ({ claim, program }) => (claim.expectedCommission ?? 0) * 100 > mostFor(claim, program) * TOLERANCE],
];

type EventCommission = NonNullable<Program['events'][number]['commission']>;

/** Per cent of the highest commission that may be expected: programs round theirs. */
const TOLERANCE = 101;

/** Whether the program pays for the event; the inquiry event stands for any that it pays for. */
function isPaidFor(event: Facts['event'], program: Program | undefined): boolean {
  if (event?.inquiry !== true) return rateOf(event?.commission) > 0;
  return program?.events.some(({ commission }) => rateOf(commission) > 0) === true;
}

function rateOf(commission: EventCommission | undefined): number {
  if (commission === undefined) return 0;
  return 'fixed' in commission ? commission.fixed : commission.percent;
}

/** The most generous commission of the program's events for an order. */
function mostFor({ orderValue }: ClaimContent, program: Program | undefined): number {
  if (program === undefined) return 0;
  return Math.max(0, ...program.events.map((event) => commissionOf(event, orderValue, program.currency)));
}

type Relation = 'same site' | 'same publisher' | 'another publisher';

/** In this order; of another publisher's transactions those that are accepted or pending. */
const TRACKED: readonly (readonly [TrackedStatusId, Relation, readonly OrderTransaction['standing'][]])[] = [
  [106, 'same site', ['accepted']],
  [107, 'same site', ['pending']],
  [109, 'same publisher', ['accepted']],
  [110, 'same publisher', ['pending']],
  [111, 'another publisher', ['accepted', 'pending']],
  [108, 'same site', ['refused']],
];

type OrderOf = Pick<OrderTransaction, 'programId' | 'siteId'> & { readonly publisherId: number };

interface AlreadyTracked {
  readonly statusId: TrackedStatusId;
  readonly transactionId: string;
}

/** The transaction by which an order of this program and site is tracked already, and the status for it. */
export function findTracked(of: OrderOf, orders: readonly OrderTransaction[]): AlreadyTracked | undefined {
  for (const [statusId, relation, standings] of TRACKED) {
    const found = orders.find(
      (order) =>
        order.programId === of.programId &&
        relationOf(of, order) === relation &&
        standings.includes(order.standing),
    );
    if (found !== undefined) return { statusId, transactionId: found.transactionId };
  }
  return undefined;
}

function relationOf({ publisherId, siteId }: OrderOf, order: OrderTransaction): Relation {
  if (order.siteId === siteId) return 'same site';
  return order.publisherId === publisherId ? 'same publisher' : 'another publisher';
}

type AwaitsApproval = Screening & { readonly statusId: typeof AWAITING_APPROVAL };

/** It awaits approval, from now on (`docs/decisions.md#c11`). */
export function awaiting(program: Program | undefined, now: Date): AwaitsApproval {
  const statusId = AWAITING_APPROVAL;
  const days = program?.daysToAutoApprove ?? null;
  if (days === null) return { statusId };
  return { statusId, autoApproveAt: new Date(now.getTime() + days * DAY).toISOString() };
}

export function originOf(
  { programId, eventId }: ClaimContent,
  publisherId: number,
  { programs }: Pick<Directory, 'programs'>,
): ClaimOrigin {
  const program = programs.get(programId);
  if (program === undefined) return { publisherId };
  const event = program.events.find(({ id }) => id === eventId);
  return {
    publisherId,
    advertiserId: program.organisationId,
    currencyId: program.currency,
    ...(event === undefined ? {} : { terms: termsOf(event) }),
  };
}
