import { commissionOf, isCommissionBy, type Terms } from '../../network/commission';
import { type Amendments, type TransactionFacts } from './transaction-facts';

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
    terms !== undefined &&
    isCommissionBy(terms, facts.publisherCommission, facts.orderValue, facts.currencyId);
  if (!isByTerms || orderValue === undefined) return { ...facts, ...amendments };
  return { ...facts, publisherCommission: commissionOf(terms, orderValue, facts.currencyId), ...amendments };
}
