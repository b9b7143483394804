import { minorUnitOf, scaleOf } from '../wire/record/minor-units';
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
