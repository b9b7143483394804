import { type Position, type RecordedEvent } from '../kernel/event';
import { minorUnitOf, scaleOf } from '../wire/record/minor-units';
import { PastValues } from './collections';
import { type DirectoryEvent } from './events';
import { type Program } from './programs';

/** What a publisher earns for an event. */
export type Terms = Pick<Program['events'][number], 'commission'>;

/** What a publisher earns by an event's terms for an order value in this currency: a multiple of `unit`. */
export function commissionOf(
  { commission }: Terms,
  orderValue: number,
  currency: string,
  unit = minorUnitOf(currency),
): number {
  if (commission === undefined) return 0;
  if ('percent' in commission) {
    const millionths = BigInt(Math.round(commission.percent * MILLION));
    return rounded(BigInt(orderValue) * millionths, 100 * MILLION, unit);
  }
  const { fixed, decimals = 2 } = commission;
  return rounded(BigInt(fixed) * 10n ** BigInt(scaleOf(currency)), 10 ** decimals, unit);
}

/**
 * Whether an amount is the commission by these terms. In events of the first version it was rounded to hundredths,
 * whatever the currency.
 */
export function isCommissionBy(terms: Terms, amount: number, orderValue: number, currency: string): boolean {
  const hundredth = 10 ** (scaleOf(currency) - 2);
  return [minorUnitOf(currency), hundredth].some(
    (unit) => commissionOf(terms, orderValue, currency, unit) === amount,
  );
}

/** Percentages have at most six decimals. */
const MILLION = 1_000_000;

/** Rounded half up, as on paper: 4.35 % of 30.00 is 1.31, though binary fractions make it a little less than 1.305. */
function rounded(dividend: bigint, divisor: number, unit: number): number {
  const units = BigInt(divisor) * BigInt(unit);
  return Number((dividend + units / 2n) / units) * unit;
}

/**
 * What programs paid for their events at each position of the log: transactions and claims that were stored before they
 * recorded it have the terms of that time, whatever has happened to the program since.
 */
export class PastTerms {
  /** By event id. */
  private readonly programs = new PastValues<Readonly<Record<string, Terms>>>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type !== 'ProgramDefined') return;
    const { id, events } = event.data;
    const terms = events.map((one) => [String(one.id), termsOf(one)] as const);
    this.programs.note(id, position, Object.fromEntries(terms));
  }

  /** Undefined if the program did not have the event then. A removed program keeps its last ones. */
  at(programId: number, eventId: number, position: Position): Terms | undefined {
    return this.programs.at(programId, position)?.[String(eventId)];
  }
}

/** The terms alone, to be recorded; without a commission if the event has none. */
export function termsOf({ commission }: Terms): Terms {
  return commission === undefined ? {} : { commission };
}
