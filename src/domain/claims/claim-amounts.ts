import {
  fromStored,
  hasHundredths,
  storedDecimals,
  type StoredDecimals,
  toStored,
} from '../../wire/record/minor-units';

/** Of claims and rulings: posted as decimal numbers, integers in memory (`wire/record/minor-units.ts`). */
export const AMOUNTS = ['orderValue', 'expectedCommission'] as const;

type Amounts = { readonly [Name in (typeof AMOUNTS)[number]]?: number | undefined };

/** What an event has of a claim: also the amounts of a ruling. Without a currency, the claim has no program. */
interface Priced extends Amounts, StoredDecimals {
  readonly currencyId?: string;
  readonly claim: Amounts;
}

export function withStoredAmounts<Data extends Priced>(data: Data): Data {
  const { claim, currencyId = '' } = data;
  if (hasHundredths(currencyId)) return data;
  const amounts = [claim, data].flatMap((of: Amounts) => AMOUNTS.map((name) => of[name]));
  const stored = storedDecimals(amounts, currencyId);
  const ofClaim = toStored(claim, AMOUNTS, currencyId, stored);
  return { ...toStored<Data>(data, AMOUNTS, currencyId, stored), claim: ofClaim, ...stored };
}

/** The inverse of `withStoredAmounts`. */
export function withAmounts<Data extends Priced>(data: Data): Data {
  const { claim, currencyId = '' } = data;
  if (hasHundredths(currencyId) && data.decimals === undefined) return data;
  const { decimals, ...others } = data;
  const stored = decimals === undefined ? {} : { decimals };
  const ofClaim = fromStored(claim, AMOUNTS, currencyId, stored);
  return { ...fromStored(others as unknown as Data, AMOUNTS, currencyId, stored), claim: ofClaim };
}
