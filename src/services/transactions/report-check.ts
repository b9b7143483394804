import { conversionFaults as fault } from '../../domain/conversion-faults';
import { commissionOf } from '../../network/commission';
import { termsOf } from '../../network/past-terms';
import { type Directory } from '../../network/directory';
import { type SiteDefinition } from '../../network/events';
import { type Caller } from '../../network/organisations';
import { type Program } from '../../network/programs';
import { amountsIn } from '../../wire/record/minor-units';
import { isPosted, isUnset, type Posted, Refusals, wrong } from '../../wire/api/posted';
import { type PostedOf } from '../../wire/record/record';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { postedTransaction } from '../../domain/transactions/fields';
import { isReportInfo } from '../../domain/transactions/report-info';
import { EVENT_TYPES } from '../../domain/transactions/states';
import { surroundingsOf } from '../../domain/transactions/surroundings';
import { type TransactionCommand } from '../../domain/transactions/transaction';
import { AMOUNTS, type TransactionFacts } from '../../domain/transactions/transaction-facts';

/** What a report is checked against. */
export interface CheckOptions {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId' | 'kind'>;
  readonly now: Date;
}

/** Without its time, which is that of the append. */
export type Report = Omit<Extract<TransactionCommand, { readonly do: 'report' }>, 'at'>;

type Event = Program['events'][number];
type Found = FoundIn<typeof postedTransaction>;

/** How far `timeOfEvent` may lie ahead (ms). */
const AHEAD = 5 * 60_000;

const read = recordReader(postedTransaction);

/** Any problem with a field is CON_350 (`docs/decisions.md#t2`). */
export const PROBLEMS = {
  missing: fault.content,
  notNumeric: fault.content,
  malformedUrl: fault.content,
  malformedPrice: fault.content,
  unusable: fault.content,
} as const;

/** Checks a report, JSON or XML alike. Raises everything that is wrong as `Faults`. */
export function checkReport(posted: unknown, options: CheckOptions): Report {
  if (!isPosted(posted)) throw fault.content(wrong('a transaction', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS);
  const found = read(posted, refusals);
  const { program, event } = checkAccess(found, options, refusals);
  const site = checkSite(found, options.directory, refusals);
  checkTimes(found, options.now, refusals);
  checkEvent(found, posted, event, refusals);
  const currency = isUnset(posted['currencyId']) ? program?.currency : found.currencyId;
  checkCommission(posted, { program, event, currency }, refusals);
  const refuse = (name: string, decimal: number, expected: string) => refusals.wrong(name, decimal, expected);
  const amounts = currency === undefined ? {} : amountsIn(found, AMOUNTS, currency, refuse);
  if (found.reportInfo !== undefined && !isReportInfo(found.reportInfo))
    refusals.wrong(
      'reportInfo',
      found.reportInfo,
      'f1=number&f2=name&f3=value&f4=quantity, items separated by |',
    );
  const report = complete<PostedOf<typeof postedTransaction>>(found, refusals);
  if (program === undefined || event === undefined || site === undefined) throw new Error('checked above');
  const { validate, ...facts } = report;
  const transaction = completed({ ...facts, ...amounts }, { program, event, site, now: options.now });
  return {
    do: 'report',
    transaction,
    posted: Object.keys(report) as (keyof typeof report)[],
    surroundings: surroundingsOf(options.directory, transaction),
    terms: termsOf(event),
    ...(validate === false ? { isHeld: true } : {}),
  };
}

/** Document 2, Errors: CON_220, CON_230, CON_240. */
function checkAccess(
  { programId, eventId }: Found,
  { directory, caller }: CheckOptions,
  refusals: Refusals,
): { readonly program?: Program; readonly event?: Event } {
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
  { siteId }: Found,
  { programs }: Directory,
  refusals: Refusals,
): SiteDefinition | undefined {
  if (siteId === undefined) return undefined;
  const site = programs.site(siteId);
  if (site === undefined)
    refusals.add(fault.noSiteAccess, `siteId is ${siteId}: expected an existing site, of a publisher`);
  return site;
}

function checkTimes({ timeOfEvent }: Found, now: Date, refusals: Refusals): void {
  if (timeOfEvent === undefined || Date.parse(timeOfEvent) <= now.getTime() + AHEAD) return;
  refusals.wrong('timeOfEvent', timeOfEvent, `a time until now, which is ${now.toISOString()}`);
}

/** `docs/decisions.md#t7`. */
function checkEvent(
  { eventTypeId }: Found,
  posted: Posted,
  event: Event | undefined,
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

/** A fixed commission is in the currency of the program (`docs/decisions.md#t8`). */
function checkCommission(
  posted: Posted,
  {
    program,
    event,
    currency,
  }: {
    readonly program: Program | undefined;
    readonly event: Event | undefined;
    readonly currency: string | undefined;
  },
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

interface Surrounding {
  readonly program: Program;
  readonly event: Event;
  readonly site: SiteDefinition;
  readonly now: Date;
}

/** With what the report leaves to the directory. */
function completed(posted: PostedFacts, { program, event, site, now }: Surrounding): TransactionFacts {
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
