import { isDeepStrictEqual } from 'node:util';
import { conversionFaults as fault } from '../subscriptions/faults';
import { type CommandOf, type Decider, type EventOf } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import {
  type DeniedReasonId,
  RULING_REASONS,
  stateIdOf,
  type StateName,
  nextState,
  type Trigger,
} from './states';
import {
  amendedBy,
  type Amendments,
  factsIn,
  postedValues,
  storedFacts,
  type StoredFacts,
  type TransactionFacts,
} from './transaction-facts';
import { type Terms } from '../../network/programs';
import { DAY } from '../../wire/date';
import { type Directory } from '../../network/directory';

/**
 * A transaction, in the stream `transaction-<transactionId>`: one event for each state it enters, in order.
 *
 * The names and shapes of these events are the storage format: add, never rename. Each event of a state has everything
 * that a message about this state may contain (Document 2, Events), so that a subscriber needs no other event.
 */

/** The end of a pending period: the system approves then, or denies (Document 2, Message attributes). */
export type Period = { readonly autoApproveDate: string } | { readonly autoDenyDate: string };

/** An approval or denial; the reason is one of Document 2, Denied reason IDs. */
interface Decision {
  readonly pendingStatusDateChanged: string;
  readonly deniedReasonId: DeniedReasonId;
}

type Entered<Type extends string, More = object> = EventOf<Type, StoredFacts & More>;

export type TransactionEvent =
  /** `terms`: absent from old events. `isHeld`: Tracked until its validation is requested (`docs/decisions.md#t3`). */
  | Entered<'TransactionTracked', { isHeld?: true; terms?: Terms }>
  | Entered<'TransactionInvalidated', { readonly reasons: readonly string[] }>
  | Entered<'TransactionPaused'>
  | Entered<'TransactionBecamePending', Period>
  | Entered<'TransactionTrackedApproved'>
  | Entered<'TransactionPendingApproved', Period & Decision>
  | Entered<'TransactionPausedDeleted'>
  | Entered<'TransactionDeleted', Partial<Period> & Decision>
  | Entered<'TransactionPaid', { readonly paymentId: number }>
  /** The only event that does not change the state. */
  | Entered<'TransactionAmended', Period>;

/** The state that each event enters. */
export const STATE_OF = {
  TransactionTracked: 'Tracked',
  TransactionInvalidated: 'Invalid',
  TransactionPaused: 'Paused',
  TransactionBecamePending: 'Pending',
  TransactionTrackedApproved: 'Tracked_Approved',
  TransactionPendingApproved: 'Pending_Approved',
  TransactionPausedDeleted: 'Paused_Deleted',
  TransactionDeleted: 'Deleted',
  TransactionPaid: 'Paid',
  TransactionAmended: 'Pending',
} as const satisfies Readonly<Record<TransactionEvent['type'], StateName>>;

export type TransactionState =
  | { readonly name: 'Unknown' }
  | {
      readonly name: StateName;
      /** As first reported: a repeated report is compared with it. */
      readonly reported: TransactionFacts;
      readonly transaction: TransactionFacts;
      /** Of the last event, ISO 8601. */
      readonly changed: string;
      /** It was reported so that it stays Tracked. */
      readonly wasHeld?: true;
      /** Once it was Pending. */
      readonly period?: Period;
      /** Of the last ruling. */
      readonly deniedReasonId?: DeniedReasonId;
      readonly paymentId?: number;
      /** Of the commission, as recorded with the report. */
      readonly terms?: Terms;
      /** The log position of the report. */
      readonly reportedAt?: Position;
    };

interface TransactionReport {
  readonly transaction: TransactionFacts;
  /** The fields that were posted: a repeated report must agree in them. */
  readonly posted: readonly (keyof TransactionFacts | 'validate')[];
  readonly surroundings: Surroundings;
  readonly terms: Terms;
  readonly isHeld?: true;
}

/** `at` is as close to the append as possible. */
export type TransactionCommand =
  | CommandOf<'report', TransactionReport>
  /** Validates one that is held, or that is Paused while its program is not. */
  | CommandOf<'validate', { surroundings: Surroundings }>
  /** Ends the pending period if it is over. */
  | CommandOf<'endPeriod'>
  | CommandOf<'invalidate', { reason: string }>
  /** `reason`: as sent; by default `RULING_REASONS`. */
  | CommandOf<
      'approve' | 'deny' | 'delete',
      { reason?: DeniedReasonId; amendments?: Amendments; terms?: Terms }
    >
  | CommandOf<'pay', { paymentId: number }>
  | CommandOf<'amend', { amendments: Amendments; terms?: Terms }>;

export const TRANSACTION = 'transaction';

type TransactionDraft = { -readonly [Name in keyof KnownTransaction]: KnownTransaction[Name] };

export type KnownTransaction = Exclude<TransactionState, { readonly name: 'Unknown' }>;

/**
 * Repeating a command that was executed does nothing; one that the state does not allow, or that would change what it
 * no longer can, raises 409. No event is earlier than the one before, whatever the clocks of processes show.
 */
export const transactionDecider: Decider<TransactionCommand, TransactionState, TransactionEvent> = {
  category: TRANSACTION,
  initial: { name: 'Unknown' },
  // Of what is before Pending only the report matters, and no ruling is before it: no transition leads back.
  supersedes: ({ type }) => STATE_OF[type] === 'Pending',
  decide: (command, state) => decide(command, state).map(stored),
  evolve(state, event) {
    const { type, data, position } = event;
    const name = STATE_OF[type];
    const transaction = factsIn(data);
    const changed = data.at;
    const isFirst = state.name === 'Unknown';
    const after: TransactionDraft = isFirst
      ? { name, reported: transaction, transaction, changed }
      : { ...state, name, transaction, changed };
    if (isFirst && 'terms' in data) after.terms = data.terms;
    if (isFirst && position !== undefined) after.reportedAt = position;
    if ('isHeld' in data) after.wasHeld = true;
    if ('autoDenyDate' in data) after.period = { autoDenyDate: data.autoDenyDate };
    else if ('autoApproveDate' in data) after.period = { autoApproveDate: data.autoApproveDate };
    if ('deniedReasonId' in data) after.deniedReasonId = data.deniedReasonId;
    if ('paymentId' in data) after.paymentId = data.paymentId;
    return after;
  },
};

/** Instants in ISO 8601 of the years 0 to 9999 are ordered as texts. */
function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

type CommandTo<Action extends TransactionCommand['do']> = Extract<
  TransactionCommand,
  { readonly do: Action }
>;

function decide(given: TransactionCommand, state: TransactionState): readonly TransactionEvent[] {
  if (given.do === 'report') return report(given, state);
  if (state.name === 'Unknown') throw fault.unknownTransaction();
  const command = { ...given, at: laterOf(given.at, state.changed) };
  switch (command.do) {
    case 'validate':
      return validate(command, state);
    case 'endPeriod':
      return isOver(given.at, state) ? endPeriod(command, state) : [];
    case 'invalidate':
      return state.name === 'Invalid' ? [] : [invalidated(state, command.at, [command.reason])];
    case 'approve':
      return approve(command, state);
    case 'deny':
    case 'delete':
      return state.name === 'Deleted' ? unchanged(command, state) : [deleted(command, state)];
    case 'pay':
      return pay(command, state);
    case 'amend':
      return amend(command, state);
  }
}

function stored(event: TransactionEvent): TransactionEvent {
  const { data } = event;
  const facts = storedFacts(data.transaction);
  // In most currencies amounts are stored as they are.
  if (facts.transaction === data.transaction && facts.decimals === undefined) return event;
  return { ...event, data: { ...data, ...facts } } as TransactionEvent;
}

function report(command: CommandTo<'report'>, state: TransactionState): readonly TransactionEvent[] {
  const { at, transaction, posted, surroundings, terms, isHeld } = command;
  if (state.name === 'Unknown') {
    const tracked = { type: 'TransactionTracked', data: { at, transaction, terms } } as const;
    if (isHeld) return [{ ...tracked, data: { ...tracked.data, isHeld } }];
    return [tracked, ...leave('Tracked', transaction, surroundings, at)];
  }
  const sent = { ...postedValues(transaction), validate: isHeld !== true };
  const stored = { ...postedValues(state.reported), validate: state.wasHeld !== true };
  const differing = differences(posted, sent, stored);
  if (differing.length === 0) return [];
  throw fault.alreadyReported(
    `this transaction was reported with other values: ${differing.join('; ')}; expected the same report, or ` +
      'another orderNumber',
  );
}

/** As they are posted. */
type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** Each field that was sent with another value than the stored one. */
function differences(fields: readonly string[], sent: Values, stored: Values): readonly string[] {
  return fields
    .filter((field) => sent[field] !== stored[field])
    .map((field) => `${field} is ${shown(stored[field])}, got ${shown(sent[field])}`);
}

/** A repeated ruling or payment: raises CON_520 if it would change what is stored. Defaults are not compared. */
function unchanged(
  command: CommandTo<'approve' | 'deny' | 'delete' | 'pay'>,
  { name, transaction, deniedReasonId, paymentId }: KnownTransaction,
): readonly TransactionEvent[] {
  const amendments = command.do === 'pay' ? {} : (command.amendments ?? {});
  const named = {
    ...(command.do === 'pay' ? { paymentId: command.paymentId } : {}),
    ...(command.do !== 'pay' && command.reason !== undefined ? { deniedReasonId: command.reason } : {}),
  };
  const sent = { ...postedValues({ ...transaction, ...amendments }), ...named };
  const stored = { ...postedValues(transaction), deniedReasonId, paymentId };
  const differing = differences([...Object.keys(amendments), ...Object.keys(named)], sent, stored);
  if (differing.length === 0) return [];
  throw fault.noSuchTransition(
    `the transaction is ${name} (${stateIdOf(name)}), where nothing can be changed: ${differing.join('; ')}`,
  );
}

function shown(value: Values[string]): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

function validate(
  { at, surroundings }: CommandTo<'validate'>,
  { name, transaction }: KnownTransaction,
): readonly TransactionEvent[] {
  return name === 'Tracked' || name === 'Paused' ? leave(name, transaction, surroundings, at) : [];
}

/** Where a Tracked or Paused transaction goes (Document 2, States and transitions); a Paused one may stay. */
function leave(
  from: 'Tracked' | 'Paused',
  transaction: TransactionFacts,
  surroundings: Surroundings,
  at: string,
): readonly TransactionEvent[] {
  const reasons = failuresOf(from, transaction, surroundings);
  const data = { at, transaction };
  switch (nextState(from, triggerOf(from, reasons, surroundings))) {
    case 'Invalid':
      return [{ type: 'TransactionInvalidated', data: { ...data, reasons } }];
    case 'Paused':
      return [{ type: 'TransactionPaused', data }];
    case 'Paused_Deleted':
      return [{ type: 'TransactionPausedDeleted', data }];
    case 'Tracked_Approved':
      return [{ type: 'TransactionTrackedApproved', data }];
    case 'Pending':
      return [{ type: 'TransactionBecamePending', data: { ...data, ...periodFrom(at, surroundings) } }];
    default:
      return [];
  }
}

function periodFrom(at: string, { pendingDays = 0, autoDeny }: Surroundings): Period {
  const end = new Date(Date.parse(at) + pendingDays * DAY).toISOString();
  return autoDeny ? { autoDenyDate: end } : { autoApproveDate: end };
}

/** By the clock, not by the time of the last event. */
function isOver(at: string, { name, period }: KnownTransaction): boolean {
  return name === 'Pending' && period !== undefined && Date.parse(at) >= endOf(period);
}

function endPeriod({ at }: CommandTo<'endPeriod'>, state: KnownTransaction): readonly TransactionEvent[] {
  return 'autoDenyDate' in knownPeriod(state)
    ? [deleted({ do: 'deny', at, reason: AUTO_DENIED }, state)]
    : [pendingApproved({ do: 'approve', at, reason: AUTO_APPROVED }, state)];
}

const [AUTO_APPROVED, AUTO_DENIED] = [3, 4] as const;

/** The end of a pending period in epoch ms. */
export function endOf(period: Period): number {
  return Date.parse('autoDenyDate' in period ? period.autoDenyDate : period.autoApproveDate);
}

function approve(
  command: CommandTo<'approve' | 'deny' | 'delete'>,
  state: KnownTransaction,
): readonly TransactionEvent[] {
  const { name } = state;
  const isApproved = name === 'Pending_Approved' || name === 'Tracked_Approved' || name === 'Paid';
  return isApproved ? unchanged(command, state) : [pendingApproved(command, state)];
}

function pendingApproved(
  { do: action, at, reason, amendments, terms }: CommandTo<'approve' | 'deny' | 'delete'>,
  state: KnownTransaction,
): TransactionEvent {
  requireTransition(state, 'approved');
  const transaction = amendedBy(state.transaction, amendments, terms);
  const ruling = { pendingStatusDateChanged: at, deniedReasonId: reason ?? RULING_REASONS[action].otherwise };
  return { type: 'TransactionPendingApproved', data: { at, transaction, ...knownPeriod(state), ...ruling } };
}

function deleted(
  { do: action, at, reason }: CommandTo<'approve' | 'deny' | 'delete'>,
  state: KnownTransaction,
): TransactionEvent {
  requireTransition(state, action === 'deny' ? 'denied' : 'deleted');
  const { transaction, period } = state;
  const ruling = { pendingStatusDateChanged: at, deniedReasonId: reason ?? RULING_REASONS[action].otherwise };
  return { type: 'TransactionDeleted', data: { at, transaction, ...period, ...ruling } };
}

function invalidated(state: KnownTransaction, at: string, reasons: readonly string[]): TransactionEvent {
  requireTransition(state, 'fails validation', 'invalidated');
  return { type: 'TransactionInvalidated', data: { at, transaction: state.transaction, reasons } };
}

function pay(command: CommandTo<'pay'>, state: KnownTransaction): readonly TransactionEvent[] {
  if (state.name === 'Paid') return unchanged(command, state);
  const { at, paymentId } = command;
  requireTransition(state, 'paid');
  return [{ type: 'TransactionPaid', data: { at, transaction: state.transaction, paymentId } }];
}

function amend(
  { at, amendments, terms }: CommandTo<'amend'>,
  state: KnownTransaction,
): readonly TransactionEvent[] {
  const transaction = amendedBy(state.transaction, amendments, terms);
  if (isDeepStrictEqual(transaction, state.transaction)) return [];
  if (state.name !== 'Pending')
    throw refused(
      state,
      'amended',
      differences(
        Object.keys(amendments),
        postedValues({ ...state.transaction, ...amendments }),
        postedValues(state.transaction),
      ),
    );
  return [{ type: 'TransactionAmended', data: { at, transaction, ...knownPeriod(state) } }];
}

/** `action`: what the message calls it. */
function requireTransition(state: KnownTransaction, on: Trigger, action: string = on): void {
  if (nextState(state.name, on) === undefined) throw refused(state, action);
}

function refused({ name }: KnownTransaction, action: string, differing: readonly string[] = []): Error {
  const details = differing.map((one) => `; ${one}`).join('');
  return fault.noSuchTransition(
    `the transaction is ${name} (${stateIdOf(name)}): it cannot be ${action} in this state${details}`,
  );
}

/** A transaction has its period since it was Pending. */
function knownPeriod({ period }: KnownTransaction): Period {
  if (period === undefined) throw new Error('a pending transaction without a period');
  return period;
}

/**
 * The facts of the directory about a transaction's program, event and site when it is decided (`docs/decisions.md#t3`).
 */
export interface Surroundings {
  readonly program: 'active' | 'paused' | 'closed' | 'unknown';
  /** Of a closed program: its invoices were paid. */
  readonly invoicesPaid: boolean;
  readonly isConnected: boolean;
  /** Of the event; undefined if the program does not have it. */
  readonly pendingDays: number | undefined;
  /** At the end of the pending period the system denies rather than approves. */
  readonly autoDeny: boolean;
}

/** What moves a Tracked or Paused transaction on; `reasons` are those for which it is not valid. */
function triggerOf(
  from: 'Tracked' | 'Paused',
  reasons: readonly string[],
  { program, invoicesPaid, pendingDays = 0 }: Surroundings,
): Trigger {
  if (from === 'Paused' && program === 'paused') return 'program is paused';
  if (from === 'Paused' && program === 'closed' && !invoicesPaid) return 'program is closed without payment';
  if (reasons.length > 0) return 'fails validation';
  if (program === 'paused') return 'program is paused';
  return pendingDays > 0 ? 'event has a pending period' : 'event has no pending period';
}

/** The validation tests (`docs/decisions.md#t3`). */
function failuresOf(
  from: 'Tracked' | 'Paused',
  { timeOfEvent, timeOfVisit = timeOfEvent }: TransactionFacts,
  { program, isConnected, pendingDays }: Surroundings,
): readonly string[] {
  const tests = [
    [program === 'unknown', 'the program was removed'],
    [program === 'closed' && from === 'Tracked', 'the program is closed'],
    [pendingDays === undefined && program !== 'unknown', 'the program does not have the event'],
    [!isConnected, 'the site is not connected to the program'],
    [Date.parse(timeOfVisit) > Date.parse(timeOfEvent), 'timeOfVisit is later than timeOfEvent'],
  ] as const;
  return tests.filter(([isFailed]) => isFailed).map(([, reason]) => reason);
}

/** The facts of the directory about a transaction's program, event and site. */
export function surroundingsOf(
  { programs }: Pick<Directory, 'programs'>,
  { programId, eventId, siteId }: Pick<TransactionFacts, 'programId' | 'eventId' | 'siteId'>,
): Surroundings {
  const program = programs.get(programId);
  const event = program?.events.find(({ id }) => id === eventId);
  return {
    program: program?.status ?? 'unknown',
    invoicesPaid: program?.invoicesPaid === true,
    isConnected: programs.site(siteId) !== undefined && programs.connectionsOf(siteId).has(programId),
    pendingDays: event?.pendingDays,
    autoDeny: event?.autoDeny === true,
  };
}
