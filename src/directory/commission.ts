import { minorUnitOf, scaleOf } from '../wire/minor-units';
import { type Program } from './programs';

/** What a publisher earns for an event. */
export type Terms = Pick<Program['events'][number], 'commission'>;

/** What a publisher earns by an event's terms for an order value in this currency: whole minor units. */
export function commissionOf({ commission }: Terms, orderValue: number, currency: string): number {
  if (commission === undefined) return 0;
  const minorUnit = minorUnitOf(currency);
  if ('percent' in commission) {
    const millionths = BigInt(Math.round(commission.percent * MILLION));
    return rounded(BigInt(orderValue) * millionths, 100 * MILLION, minorUnit);
  }
  const { fixed, decimals = 2 } = commission;
  return rounded(BigInt(fixed) * 10n ** BigInt(scaleOf(currency)), 10 ** decimals, minorUnit);
}

/** Of the per cent six decimals count. */
const MILLION = 1_000_000;

/** Rounded half up, as on paper: 4.35 % of 30.00 is 1.31, though binary fractions make it a little less than 1.305. */
function rounded(dividend: bigint, divisor: number, unit: number): number {
  const units = BigInt(divisor) * BigInt(unit);
  return Number((dividend + units / 2n) / units) * unit;
}
