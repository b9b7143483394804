import { type Program } from '../directory/programs';
import { type Amendments, type TransactionFacts } from './transaction-facts';

/** What a publisher earns for an event. */
export type Terms = Pick<Program['events'][number], 'commission'>;

/** What a publisher earns by an event's terms: hundredths, like the order value. */
export function commissionOf({ commission }: Terms, orderValue: number): number {
  if (commission === undefined) return 0;
  return 'fixed' in commission ? commission.fixed : Math.round((orderValue * commission.percent) / 100);
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
