import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { postedTransaction, postedTransition } from '../../domain/transactions/transaction-fields';
import { isReportInfo } from '../../domain/transactions/stored-transaction';
import { type DeniedReasonId, EVENT_TYPES, RULING_REASONS } from '../../domain/transactions/states';
import {
  type KnownTransaction,
  surroundingsOf,
  type TransactionCommand,
} from '../../domain/transactions/transaction';
import { AMENDABLE, AMOUNTS, type TransactionFacts } from '../../domain/transactions/transaction-facts';
import { idsWith, TRANSACTION_ID } from '../../domain/transactions/transaction-id';
import { START } from '../../kernel/event';
import { type Directory } from '../../network/directory';
import { type SiteDefinition } from '../../network/events';
import { type Caller } from '../../network/organisations';
import { commissionOf, type Program, type Programs, termsOf } from '../../network/programs';
import { isPosted, isUnset, type Posted, Refusals, wrong } from '../../wire/api/posted';
import { amountsIn } from '../../wire/record/minor-units';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { type PostedOf } from '../../wire/record/record';
import { defined } from '../../kernel/values';

interface CheckParts {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId' | 'kind'>;
  readonly now: Date;
}

/** Without its time, which is that of the append. */
type ReportCommand = Omit<Extract<TransactionCommand, { readonly do: 'report' }>, 'at'>;

type ReportedEvent = Program['events'][number];
type FoundReport = FoundIn<typeof postedTransaction>;

/** How far `timeOfEvent` may lie ahead (ms). */
const AHEAD = 5 * 60_000;

const readReport = recordReader(postedTransaction);

/** Any problem with a field is CON_350 (`docs/decisions.md#t2`). */
const PROBLEMS = {
  missing: fault.content,
  notNumeric: fault.content,
  malformedUrl: fault.content,
  malformedPrice: fault.content,
  unusable: fault.content,
} as const;

/** Checks a report, JSON or XML alike. Raises everything that is wrong as `Faults`. */
export function checkReport(posted: unknown, parts: CheckParts): ReportCommand {
  if (!isPosted(posted)) throw fault.content(wrong('a transaction', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS);
  const found = readReport(posted, refusals);
  const access = checkAccess(found, parts, refusals);
  const { program, event } = access;
  const site = checkSite(found, parts.directory, refusals);
  checkTimes(found, parts.now, refusals);
  checkEvent(found, posted, event, refusals);
  const currency = isUnset(posted['currencyId']) ? program?.currency : found.currencyId;
  checkCommission(posted, access, currency, refusals);
  const refuse = (name: string, decimal: number, expected: string) => refusals.wrong(name, decimal, expected);
  const amounts = currency === undefined ? {} : amountsIn(found, AMOUNTS, currency, refuse);
  checkReportInfo(found.reportInfo, refusals);
  const report = complete<PostedOf<typeof postedTransaction>>(found, refusals);
  if (program === undefined || event === undefined || site === undefined) throw new Error('checked above');
  const { validate, ...facts } = report;
  const transaction = completed({ ...facts, ...amounts }, { program, event, site, now: parts.now });
  return {
    do: 'report',
    transaction,
    posted: Object.keys(report) as (keyof typeof report)[],
    surroundings: surroundingsOf(parts.directory, transaction),
    terms: termsOf(event),
    ...(validate === false ? { isHeld: true } : {}),
  };
}

/** What a report may refer to, as far as it does. */
interface Accessed {
  readonly program?: Program;
  readonly event?: ReportedEvent;
}

/** Document 2, Errors: CON_220, CON_230, CON_240. */
function checkAccess(
  { programId, eventId }: FoundReport,
  { directory, caller }: CheckParts,
  refusals: Refusals,
): Accessed {
  if (programId === undefined) return {};
  const program = directory.program(programId);
  if (program === undefined) {
    refusals.add(fault.unknownProgram, `programId is ${programId}: expected an existing program`);
    return {};
  }
  if (caller.kind !== 'operator' && program.organisationId !== caller.organisationId) {
    refusals.add(fault.noProgramAccess, `programId is ${programId}: expected a program of yours`);
    return {};
  }
  const event = program.events.find(({ id }) => id === eventId);
  if (event !== undefined) return { program, event };
  if (eventId !== undefined) {
    const ids = program.events.map(({ id }) => id).join(', ');
    const expected =
      ids === '' ? 'but the program has no events' : `expected one of program ${programId}: ${ids}`;
    refusals.add(fault.noEventAccess, `eventId is ${eventId}: ${expected}`);
  }
  return { program };
}

/** An unknown site is refused, one that is not connected makes the transaction Invalid (`docs/decisions.md#t3`). */
function checkSite(
  { siteId }: FoundReport,
  { programs }: Directory,
  refusals: Refusals,
): SiteDefinition | undefined {
  if (siteId === undefined) return undefined;
  const site = programs.site(siteId);
  if (site === undefined)
    refusals.add(fault.noSiteAccess, `siteId is ${siteId}: expected an existing site, of a publisher`);
  return site;
}

function checkTimes({ timeOfEvent }: FoundReport, now: Date, refusals: Refusals): void {
  if (timeOfEvent === undefined || Date.parse(timeOfEvent) <= now.getTime() + AHEAD) return;
  refusals.wrong('timeOfEvent', timeOfEvent, `a time until now, which is ${now.toISOString()}`);
}

/** `docs/decisions.md#t7`. */
function checkEvent(
  { eventTypeId }: FoundReport,
  posted: Posted,
  event: ReportedEvent | undefined,
  refusals: Refusals,
): void {
  if (event === undefined) return;
  const { id, kind } = event;
  if (eventTypeId !== undefined && EVENT_TYPES[eventTypeId].kind !== kind) {
    const types = Object.entries(EVENT_TYPES).filter(([, type]) => type.kind === kind);
    const expected = types.map(([type, { name }]) => `${type} (${name})`).join(' or ');
    refusals.wrong('eventTypeId', eventTypeId, `${expected}: event ${id} is a ${kind}`);
  }
  if (kind === 'sale' && isUnset(posted['orderValue']))
    refusals.missing('orderValue', `: event ${id} is a sale`);
}

function checkReportInfo(reportInfo: string | undefined, refusals: Refusals): void {
  if (reportInfo === undefined || isReportInfo(reportInfo)) return;
  const expected = 'f1=number&f2=name&f3=value&f4=quantity, items separated by |';
  refusals.wrong('reportInfo', reportInfo, expected);
}

/** A fixed commission is in the currency of the program (`docs/decisions.md#t8`). */
function checkCommission(
  posted: Posted,
  { program, event }: Accessed,
  currency: string | undefined,
  refusals: Refusals,
): void {
  if (program === undefined || event?.commission === undefined || !('fixed' in event.commission)) return;
  if (currency === undefined || currency === program.currency || !isUnset(posted['publisherCommission']))
    return;
  refusals.missing(
    'publisherCommission',
    `: event ${event.id} pays a fixed amount of ${program.currency}, and currencyId is ${currency}`,
  );
}

type PostedFacts = Omit<PostedOf<typeof postedTransaction>, 'validate'>;

interface CompletedBy {
  readonly program: Program;
  readonly event: ReportedEvent;
  readonly site: SiteDefinition;
  readonly now: Date;
}

/** With what the report leaves to the directory. */
function completed(posted: PostedFacts, { program, event, site, now }: CompletedBy): TransactionFacts {
  const { orderValue = 0 } = posted;
  return {
    advertiserId: program.organisationId,
    programCountry: program.country,
    siteName: site.name,
    publisherId: site.organisationId,
    eventTypeId: event.kind === 'sale' ? 5 : 4,
    currencyId: program.currency,
    timeOfEvent: now.toISOString(),
    publisherCommission: commissionOf(event, orderValue, posted.currencyId ?? program.currency),
    tdCommission: 0,
    ...posted,
    orderValue,
  };
}

/** A checked request for a transition (`docs/decisions.md#t5`). */
export interface CheckedTransition {
  /** At least one of both. */
  readonly transactionId?: string | undefined;
  readonly legacyTransactionId?: string | undefined;
  readonly request: PostedTransition;
}

type PostedTransition = PostedOf<typeof postedTransition>;

const readTransition = recordReader(postedTransition);

/** Checks a request, JSON or XML alike. Raises everything that is wrong as `Faults`. */
export function checkTransition(
  posted: unknown,
  caller: Pick<Caller, 'kind'>,
  programs: Pick<Programs, 'everWithEvent'>,
): CheckedTransition {
  if (!isPosted(posted)) throw fault.content(wrong('a transition', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS);
  const found = readTransition(posted, refusals);
  const { action, deniedReasonId, transactionId, legacyTransactionId } = found;
  if (transactionId === undefined) {
    if (legacyTransactionId === undefined) refusals.missing('transactionId', ', or legacyTransactionId');
  } else if (!TRANSACTION_ID.test(transactionId))
    refusals.wrong('transactionId', transactionId, '32 hexadecimal digits');
  else if (
    legacyTransactionId !== undefined &&
    !idsWith(legacyTransactionId, programs).includes(transactionId)
  )
    refusals.wrong('transactionId', transactionId, 'the id of the given legacyTransactionId');
  if (action === 'pay' && found.paymentId === undefined)
    refusals.missing('paymentId', ' where action is pay');
  if (action === 'pay' && caller.kind !== 'operator')
    refusals.add(fault.userType, 'action is pay: expected a token of an operator');
  if (deniedReasonId !== undefined && action !== undefined) checkReason(action, deniedReasonId, refusals);
  const amended = AMENDABLE.filter((field) => found[field] !== undefined);
  if (action === 'amend' && amended.length === 0) refusals.missing(`one of ${AMENDABLE.join(', ')}`);
  if (amended.length > 0 && action !== undefined && action !== 'amend' && action !== 'approve')
    refusals.refuse('unusable', `${amended.join(', ')}: expected only where action is amend or approve`);
  checkReportInfo(found.reportInfo, refusals);
  const request = complete<PostedTransition>(found, refusals);
  return { transactionId, legacyTransactionId, request };
}

function checkReason(action: PostedTransition['action'], reason: DeniedReasonId, refusals: Refusals): void {
  const reasons =
    action in RULING_REASONS ? RULING_REASONS[action as keyof typeof RULING_REASONS] : undefined;
  if (reasons === undefined)
    return refusals.refuse(
      'unusable',
      `deniedReasonId: expected only where action is approve, deny or delete`,
    );
  const known: readonly number[] = [...reasons.others, reasons.otherwise];
  if (!known.includes(reason))
    refusals.wrong('deniedReasonId', reason, `one of ${known.join(', ')} where action is ${action}`);
}

/** The command for a transaction in this state. `at` is an ISO 8601 instant. */
export function transitionCommand(
  { action, deniedReasonId, paymentId = 0, ...request }: PostedTransition,
  state: KnownTransaction,
  directory: Directory,
  at: string,
): TransactionCommand {
  const { transaction } = state;
  const { programId, eventId } = transaction;
  const terms = state.terms ?? directory.pastTerms.at(programId, eventId, state.reportedAt ?? START);
  const refusals = new Refusals(PROBLEMS);
  const refuse = (name: string, decimal: number, expected: string) => refusals.wrong(name, decimal, expected);
  const amounts = amountsIn(request, AMOUNTS, transaction.currencyId, refuse);
  refusals.raise();
  const { reportInfo } = request;
  const amended = {
    amendments: { ...amounts, ...(reportInfo === undefined ? {} : { reportInfo }) },
    ...(terms === undefined ? {} : { terms }),
  };
  switch (action) {
    case 'approve':
    case 'deny':
    case 'delete':
      return defined({ do: action, at, reason: deniedReasonId, ...amended });
    case 'amend':
      return { do: 'amend', at, ...amended };
    case 'validate':
      return { do: 'validate', at, surroundings: surroundingsOf(directory, transaction) };
    case 'invalidate':
      return { do: 'invalidate', at, reason: 'its advertiser has invalidated it' };
    case 'pay':
      return { do: 'pay', at, paymentId };
  }
}
