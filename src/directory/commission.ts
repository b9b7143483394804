import { type Program } from './programs';

/** What a publisher earns for an event. */
export type Terms = Pick<Program['events'][number], 'commission'>;

/** What a publisher earns by an event's terms: hundredths, like the order value. */
export function commissionOf({ commission }: Terms, orderValue: number): number {
  if (commission === undefined) return 0;
  return 'fixed' in commission ? commission.fixed : percentOf(orderValue, commission.percent);
}

const MILLION = 1_000_000;

/**
 * Rounded half up, as on paper: 4.35 % of 30.00 is 1.31, though binary fractions make it a little less than 1.305. Of the per cent six
 * decimals count.
 */
function percentOf(hundredths: number, percent: number): number {
  const millionths = BigInt(Math.round(percent * MILLION));
  const divisor = BigInt(100 * MILLION);
  return Number((BigInt(hundredths) * millionths + divisor / 2n) / divisor);
}
