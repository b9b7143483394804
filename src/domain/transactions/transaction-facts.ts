import { commissionOf, isCommissionBy, type Terms } from '../../network/programs';
import {
  decimalOf,
  fromStored,
  hasHundredths,
  storedDecimals,
  type StoredDecimals,
  toStored,
} from '../../wire/record/minor-units';
import { type EventTypeId } from './states';

/** What is known of a transaction. Amounts are integers (`wire/record/minor-units.ts`), times ISO 8601 instants. */
export interface TransactionFacts {
  readonly advertiserId: number;
  readonly programId: number;
  /** ISO 3166-1. */
  readonly programCountry: string;
  readonly siteId: number;
  readonly siteName: string;
  /** The organisation that owned the site when it was reported; absent for an unknown site. */
  readonly publisherId?: number;
  readonly eventId: number;
  readonly eventTypeId: EventTypeId;
  readonly orderNumber: string;
  readonly orderValue: number;
  readonly currencyId: string;
  readonly publisherCommission: number;
  readonly tdCommission: number;
  readonly timeOfEvent: string;
  readonly timeOfVisit?: string;
  readonly mediaCost?: number;
  readonly adId?: number;
  readonly locationId?: number;
  readonly batchId?: number;
  readonly epi?: string;
  readonly epi2?: string;
  readonly productId?: string;
  /** `docs/decisions.md#t2`. */
  readonly reportInfo?: string;
  readonly visitorId?: string;
  /** The claim that it was made of, if the ids of the order belong to another transaction (`docs/decisions.md#c10`). */
  readonly claimId?: number;
}

/** The amounts in `currencyId`. */
export const AMOUNTS = [
  'orderValue',
  'publisherCommission',
  'tdCommission',
  'mediaCost',
] as const satisfies readonly (keyof TransactionFacts)[];

/** Fields that an advertiser may amend in the pending period. */
export const AMENDABLE = [...AMOUNTS, 'reportInfo'] as const;

export type Amendments = Partial<Pick<TransactionFacts, (typeof AMENDABLE)[number]>>;

export function isAmount(field: string): field is (typeof AMOUNTS)[number] {
  return (AMOUNTS as readonly string[]).includes(field);
}

/** As an event has them: amounts are minor units of the currency, or have the decimals that it names. */
export interface StoredFacts extends StoredDecimals {
  readonly transaction: TransactionFacts;
}

export function storedFacts(facts: TransactionFacts): StoredFacts {
  const { currencyId } = facts;
  if (hasHundredths(currencyId)) return { transaction: facts };
  const decimals = storedDecimals(
    AMOUNTS.map((name) => facts[name]),
    currencyId,
  );
  const transaction = toStored(facts, AMOUNTS, currencyId, decimals);
  return { transaction, ...decimals };
}

/** The inverse of `storedFacts`. */
export function factsIn(stored: StoredFacts): TransactionFacts {
  const { transaction } = stored;
  return fromStored(transaction, AMOUNTS, transaction.currencyId, stored);
}

/** A value as it is posted: amounts as decimal numbers. */
export function postedValue(
  facts: TransactionFacts,
  field: keyof TransactionFacts,
): string | number | undefined {
  const value = facts[field];
  return isAmount(field) && typeof value === 'number' ? decimalOf(value, facts.currencyId) : value;
}

/** All of them, by name. */
export function postedValues(facts: TransactionFacts): Readonly<Record<string, string | number | undefined>> {
  const names = Object.keys(facts) as (keyof TransactionFacts)[];
  return Object.fromEntries(names.map((name) => [name, postedValue(facts, name)]));
}

/** With amendments; a commission by `terms`, if given, follows the order value (`docs/decisions.md#t5`). */
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
