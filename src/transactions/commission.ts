import { type Program } from '../directory/programs';
import { type Amendments, type TransactionFacts } from './transaction-facts';

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

/**
 * The facts with amendments. A commission by the event's terms follows the order value (`docs/decisions.md#t5`); without
 * `terms` it does not.
 */
export function amendedBy(
  facts: TransactionFacts,
  amendments: Amendments = {},
  terms?: Terms,
): TransactionFacts {
  const { orderValue } = amendments;
  const isByTerms =
    terms !== undefined && commissionOf(terms, facts.orderValue) === facts.publisherCommission;
  if (!isByTerms || orderValue === undefined) return { ...facts, ...amendments };
  return { ...facts, publisherCommission: commissionOf(terms, orderValue), ...amendments };
}
