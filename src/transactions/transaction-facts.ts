import { type EventTypeId } from './states';

/** What is known of a transaction. Amounts are hundredths of the currency, times ISO 8601 instants. */
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
  /** ISO 4217. */
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

/** Fields that an advertiser may amend in the pending period. */
export const AMENDABLE = [
  'orderValue',
  'publisherCommission',
  'tdCommission',
  'mediaCost',
  'reportInfo',
] as const satisfies readonly (keyof TransactionFacts)[];

export type Amendments = Partial<Pick<TransactionFacts, (typeof AMENDABLE)[number]>>;

/** Stored as hundredths. */
export const AMOUNTS: ReadonlySet<string> = new Set([
  'orderValue',
  'publisherCommission',
  'tdCommission',
  'mediaCost',
] satisfies (keyof TransactionFacts)[]);

/** A value as it is posted. */
export function shown(field: keyof TransactionFacts, value: string | number | undefined): string {
  if (value === undefined) return 'none';
  return JSON.stringify(AMOUNTS.has(field) ? Number(value) / 100 : value);
}
