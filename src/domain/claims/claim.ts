import { type Terms } from '../../network/programs';
import { type CommandOf, type Decider, type EventOf } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { defined } from '../../kernel/values';
import {
  fromStored,
  hasHundredths,
  type StoredDecimals,
  storedDecimals,
  toStored,
} from '../../wire/record/minor-units';
import { claimFaults as fault } from './faults';
import {
  APPROVED,
  AWAITING_APPROVAL,
  CANNOT_VALIDATE,
  isAtNetwork,
  isOpen,
  type ReviewStatusId,
  type RulingStatusId,
  type ScreenedStatusId,
  type StatusId,
} from './statuses';

/**
 * A claim, in the stream `claim-<id>`.
 *
 * The names and shapes of these events are the storage format: add, never rename. Amounts are minor units of the
 * program's currency, or have the decimals that the event names; `at` is an ISO 8601 instant.
 */

/** What a publisher posts (Document 3, Claim posted by a publisher). */
export interface ClaimContent {
  readonly siteId: number;
  readonly programId: number;
  /** `YYYY-MM-DD`. */
  readonly transactionDate: string;
  readonly eventId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
  readonly epi?: string;
  readonly epi2?: string;
  readonly trackingUrl?: string;
  readonly productName?: string;
  readonly proofOfClaims?: string;
  readonly expectedCommission?: number;
  readonly advertiserInformation?: string;
}

/** Of the program, as it was when the claim was filed or revised; absent if there was no such program. */
interface ProgramFacts {
  readonly advertiserId?: number;
  readonly currencyId?: string;
  /** Of the event's commission; absent, too, of events that were stored before they were recorded. */
  readonly terms?: Terms;
}

export interface ClaimOrigin extends ProgramFacts {
  readonly publisherId: number;
}

/** In each event that changes the status: all that a message about it may contain. */
interface ClaimSubject extends ClaimOrigin, StoredDecimals {
  /** Its `versionNo`. */
  readonly version: number;
  readonly claim: ClaimContent;
}

/** What screening has found; `autoApproveAt`, an ISO 8601 instant, only when it awaits approval. */
export interface Screening {
  readonly statusId: ScreenedStatusId;
  readonly message?: string;
  readonly autoApproveAt?: string;
}

/** What an operator decides; `autoApproveAt` as in a screening. */
export type Review = Omit<Screening, 'statusId'> & { readonly statusId: ReviewStatusId };

/** `expectedCommission` and `orderValue` correct an approval. */
export interface Ruling {
  readonly statusId: RulingStatusId;
  readonly message?: string;
  readonly orderValue?: number;
  readonly expectedCommission?: number;
}

type Ruled = EventOf<'ClaimRuled', Ruling & ClaimSubject & { by: 'advertiser' | 'system' }>;

export type ClaimEvent =
  | EventOf<'ClaimFiled', ClaimOrigin & StoredDecimals & { claim: ClaimContent }>
  /** Follows each `ClaimFiled` and `ClaimRevised`; again after a later validation or an operator’s decision. */
  | EventOf<'ClaimScreened', (Screening | Review) & ClaimSubject & { by?: 'operator' }>
  /** `version`: its new `versionNo`. */
  | EventOf<'ClaimRevised', ProgramFacts & StoredDecimals & { version: number; claim: ClaimContent }>
  | Ruled
  /** An approved claim has become a transaction, or the order had been tracked before (`docs/decisions.md#c10`). */
  | EventOf<'ClaimTracked', { transactionId: string }>
  /** An update that was interrupted can no longer be stored: the key that it had reserved is given to another claim. */
  | EventOf<'ClaimKeyReclaimed'>
  /** As the only event of a stream: the claim was never filed, and its id is not used. */
  | EventOf<'ClaimWithdrawn'>;

export type ClaimState =
  | { readonly is: 'unknown' }
  | { readonly is: 'withdrawn' }
  | {
      readonly is: 'filed';
      readonly version: number;
      readonly statusId: StatusId;
      readonly claim: ClaimContent;
      readonly autoApproveAt: string | undefined;
      /** By the advertiser or the system. */
      readonly ruling: Ruled['data'] | undefined;
      readonly transactionId: string | undefined;
      readonly publisherId: number;
      readonly advertiserId: number | undefined;
      readonly currencyId: string | undefined;
      readonly terms: Terms | undefined;
      /** The log position at which it was filed or last revised. */
      readonly postedAt: Position | undefined;
    };

export type FiledClaim = Extract<ClaimState, { readonly is: 'filed' }>;

export type ClaimCommand =
  | CommandOf<'file', { origin: ClaimOrigin; claim: ClaimContent; screening: Screening }>
  | CommandOf<'revise', ProgramFacts & { version: number; claim: ClaimContent; screening: Screening }>
  /** Does nothing unless this version could not be validated before. */
  | CommandOf<'screen', { version: number; screening: Screening }>
  /** Refused unless it is pending at the network. */
  | CommandOf<'review', { version: number; review: Review }>
  | CommandOf<'rule', { version: number; ruling: Ruling }>
  /** Approves it if it is due. */
  | CommandOf<'autoApprove'>
  | CommandOf<'track', { transactionId: string }>
  | CommandOf<'withdraw', { version: number }>
  /** Ensures that no claim can be filed under this id any more, if none was. */
  | CommandOf<'void'>
  /** Ensures that an update which was decided before can no longer be stored. */
  | CommandOf<'reclaimKey'>;

/** Commands that somebody waits for; others do nothing then. */
const REFUSED_WITHOUT_CLAIM: ReadonlySet<ClaimCommand['do']> = new Set([
  'revise',
  'review',
  'rule',
  'withdraw',
]);

export const CLAIM = 'claim';

/** Refuses what the version or the status does not allow (UTS_402, UTS_405). Who may do what is the caller's. */
export const claimDecider: Decider<ClaimCommand, ClaimState, ClaimEvent> = {
  category: CLAIM,
  initial: { is: 'unknown' },
  // Only an open claim is revised, which nobody has ruled on. A screening follows in the same append.
  supersedes: ({ type }) => type === 'ClaimRevised',
  decide: (command, state) => decide(command, state).map(stored),
  evolve(state, event) {
    if (event.type === 'ClaimWithdrawn') return { is: 'withdrawn' };
    const read = inMemory(event);
    if (read.type === 'ClaimFiled') {
      const { claim, publisherId, advertiserId, currencyId, terms } = read.data;
      const nothing = { autoApproveAt: undefined, ruling: undefined, transactionId: undefined };
      return {
        is: 'filed',
        version: 0,
        statusId: 1,
        claim,
        publisherId,
        advertiserId,
        currencyId,
        terms,
        postedAt: event.position,
        ...nothing,
      };
    }
    return state.is === 'filed' ? changed(state, read, event.position) : state;
  },
};

function decide(command: ClaimCommand, state: ClaimState): readonly ClaimEvent[] {
  const { at } = command;
  if (command.do === 'void') return state.is === 'unknown' ? [{ type: 'ClaimWithdrawn', data: { at } }] : [];
  if (command.do === 'file') return state.is === 'unknown' ? filed(command) : [];
  if (state.is !== 'filed') {
    if (REFUSED_WITHOUT_CLAIM.has(command.do)) throw fault.notFound();
    return [];
  }
  switch (command.do) {
    case 'revise': {
      const { claim, screening } = command;
      const program = programFacts(command);
      const version = command.version + 1;
      requireVersion(state, command.version);
      if (!isOpen(state.statusId)) throw wrongStatus(state, 'updated');
      const { publisherId } = state;
      return [
        { type: 'ClaimRevised', data: { at, version, claim, ...program } },
        { type: 'ClaimScreened', data: { at, ...screening, publisherId, ...program, version, claim } },
      ];
    }
    case 'screen': {
      const { version, screening } = command;
      if (state.version !== version || state.statusId !== CANNOT_VALIDATE) return [];
      if (screening.statusId === CANNOT_VALIDATE) return [];
      return [{ type: 'ClaimScreened', data: { at, ...screening, ...subjectOf(state) } }];
    }
    case 'review': {
      const { version, review } = command;
      requireVersion(state, version);
      if (!isAtNetwork(state.statusId)) throw wrongStatus(state, 'released or rejected by operators');
      return [{ type: 'ClaimScreened', data: { at, by: 'operator', ...review, ...subjectOf(state) } }];
    }
    case 'rule': {
      const { version, ruling } = command;
      requireVersion(state, version);
      if (state.statusId !== AWAITING_APPROVAL) throw wrongStatus(state, 'updated by its advertiser');
      const subject = { ...subjectOf(state), version: version + 1 };
      return [{ type: 'ClaimRuled', data: { at, by: 'advertiser', ...ruling, ...subject } }];
    }
    case 'autoApprove': {
      const { statusId, autoApproveAt } = state;
      const isDue = autoApproveAt !== undefined && Date.parse(autoApproveAt) <= Date.parse(at);
      if (statusId !== AWAITING_APPROVAL || !isDue) return [];
      const ruling = { at, by: 'system', statusId: APPROVED } as const;
      return [{ type: 'ClaimRuled', data: { ...ruling, ...subjectOf(state) } }];
    }
    case 'track': {
      const { transactionId } = command;
      if (state.statusId !== APPROVED || state.transactionId !== undefined) return [];
      return [{ type: 'ClaimTracked', data: { at, transactionId } }];
    }
    case 'withdraw': {
      requireVersion(state, command.version);
      if (state.ruling !== undefined) throw wrongStatus(state, 'deleted');
      return [{ type: 'ClaimWithdrawn', data: { at } }];
    }
    case 'reclaimKey':
      return [{ type: 'ClaimKeyReclaimed', data: { at } }];
  }
}

function stored(event: ClaimEvent): ClaimEvent {
  return 'claim' in event.data ? ({ ...event, data: withStoredAmounts(event.data) } as ClaimEvent) : event;
}

/** With its amounts as they are in memory. */
export function inMemory<Event extends ClaimEvent>(event: Event): Event {
  return 'claim' in event.data ? { ...event, data: withAmounts(event.data) } : event;
}

function filed({
  at,
  origin,
  claim,
  screening,
}: Extract<ClaimCommand, { readonly do: 'file' }>): readonly ClaimEvent[] {
  return [
    { type: 'ClaimFiled', data: { at, ...origin, claim } },
    { type: 'ClaimScreened', data: { at, ...screening, ...origin, version: 0, claim } },
  ];
}

function subjectOf(state: FiledClaim): ClaimSubject {
  const { publisherId, version, claim } = state;
  return { publisherId, ...programFacts(state), version, claim };
}

/** Without the fields that have no value. */
export function programFacts({ advertiserId, currencyId, terms }: OptionalFacts<ProgramFacts>): ProgramFacts {
  return defined({ advertiserId, currencyId, terms });
}

type OptionalFacts<Facts> = { readonly [Name in keyof Facts]?: Facts[Name] | undefined };

function changed(
  state: FiledClaim,
  event: Exclude<ClaimEvent, { readonly type: 'ClaimFiled' | 'ClaimWithdrawn' }>,
  position: Position | undefined,
): ClaimState {
  switch (event.type) {
    case 'ClaimScreened':
      return { ...state, statusId: event.data.statusId, autoApproveAt: event.data.autoApproveAt };
    case 'ClaimRevised': {
      const { version, claim, advertiserId, currencyId, terms } = event.data;
      return { ...state, version, claim, advertiserId, currencyId, terms, postedAt: position, statusId: 1 };
    }
    case 'ClaimRuled':
      return { ...state, version: event.data.version, statusId: event.data.statusId, ruling: event.data };
    case 'ClaimTracked':
      return { ...state, transactionId: event.data.transactionId };
    case 'ClaimKeyReclaimed':
      return state;
  }
}

function requireVersion({ version }: FiledClaim, expected: number): void {
  if (version === expected) return;
  throw fault.wrongStatus(`versionNo is ${expected}, but the latest version of the claim is ${version}`);
}

function wrongStatus({ statusId }: FiledClaim, action: string): Error {
  return fault.wrongStatus(`the claim has status ${statusId}: it cannot be ${action} in this status`);
}

/** Of claims and rulings: posted as decimal numbers, integers in memory (`wire/record/minor-units.ts`). */
export const AMOUNTS = ['orderValue', 'expectedCommission'] as const;

type Amounts = { readonly [Name in (typeof AMOUNTS)[number]]?: number | undefined };

/** What an event has of a claim: also the amounts of a ruling. Without a currency, the claim has no program. */
interface Priced extends Amounts, StoredDecimals {
  readonly currencyId?: string;
  readonly claim: Amounts;
}

function withStoredAmounts<Data extends Priced>(data: Data): Data {
  const { claim, currencyId = '' } = data;
  if (hasHundredths(currencyId)) return data;
  const amounts = [claim, data].flatMap((of: Amounts) => AMOUNTS.map((name) => of[name]));
  const stored = storedDecimals(amounts, currencyId);
  const ofClaim = toStored(claim, AMOUNTS, currencyId, stored);
  return { ...toStored<Data>(data, AMOUNTS, currencyId, stored), claim: ofClaim, ...stored };
}

/** The inverse of `withStoredAmounts`. */
function withAmounts<Data extends Priced>(data: Data): Data {
  const { claim, currencyId = '' } = data;
  if (hasHundredths(currencyId) && data.decimals === undefined) return data;
  const { decimals, ...others } = data;
  const stored = decimals === undefined ? {} : { decimals };
  const ofClaim = fromStored(claim, AMOUNTS, currencyId, stored);
  return { ...fromStored(others as unknown as Data, AMOUNTS, currencyId, stored), claim: ofClaim };
}

/**
 * The claims of one post, in the stream `claim-batch-<id of the first one>`. They are accepted by one append: before it
 * nothing is filed, and after it anybody may file them (`docs/decisions.md#c3`).
 *
 * The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant.
 */

/** A claim to be filed, and what screening has found. */
export interface Filing {
  readonly id: number;
  readonly origin: ClaimOrigin;
  readonly claim: ClaimContent;
  readonly screening: Screening;
}

/** Amounts are minor units of the program's currency, or have the decimals that it names. */
type StoredFiling = Filing & StoredDecimals;

export type ClaimBatchEvent =
  | EventOf<'ClaimBatchAccepted', { claims: readonly StoredFiling[] }>
  | EventOf<'ClaimBatchFinished'>
  /** As the only event of a stream: the post was interrupted, and none of its claims can be filed any more. */
  | EventOf<'ClaimBatchAbandoned'>;

export type ClaimBatchState =
  | { readonly is: 'unknown' | 'abandoned' | 'finished' }
  | { readonly is: 'accepted'; readonly at: string; readonly claims: readonly Filing[] };

type ClaimBatchCommand =
  | CommandOf<'accept', { claims: readonly Filing[] }>
  | CommandOf<'finish'>
  /** Ensures that it can no longer be accepted. */
  | CommandOf<'abandon'>;

export const CLAIM_BATCH = 'claim-batch';

/** A command that does not fit the state does nothing: the state returned shows why. */
export const claimBatchDecider: Decider<ClaimBatchCommand, ClaimBatchState, ClaimBatchEvent> = {
  category: CLAIM_BATCH,
  initial: { is: 'unknown' },
  decide(command, state) {
    const { at } = command;
    switch (command.do) {
      case 'accept': {
        if (state.is !== 'unknown') return [];
        return [{ type: 'ClaimBatchAccepted', data: { at, claims: command.claims.map(storedFiling) } }];
      }
      case 'finish':
        return state.is === 'accepted' ? [{ type: 'ClaimBatchFinished', data: { at } }] : [];
      case 'abandon':
        return state.is === 'unknown' ? [{ type: 'ClaimBatchAbandoned', data: { at } }] : [];
    }
  },
  evolve(_, event) {
    switch (event.type) {
      case 'ClaimBatchAccepted':
        return { is: 'accepted', at: event.data.at, claims: event.data.claims.map(filingIn) };
      case 'ClaimBatchFinished':
        return { is: 'finished' };
      case 'ClaimBatchAbandoned':
        return { is: 'abandoned' };
    }
  },
};

type PricedClaim = ProgramFacts & StoredDecimals & { readonly claim: ClaimContent };

export function storedFiling(filing: Filing): StoredFiling {
  const { claim, origin } = filing;
  const { decimals, claim: stored } = withStoredAmounts<PricedClaim>({ ...programFacts(origin), claim });
  return { ...filing, claim: stored, ...(decimals === undefined ? {} : { decimals }) };
}

function filingIn({ decimals, ...filing }: StoredFiling): Filing {
  const stored = decimals === undefined ? {} : { decimals };
  const { claim } = withAmounts({ ...programFacts(filing.origin), ...stored, claim: filing.claim });
  return { ...filing, claim };
}
