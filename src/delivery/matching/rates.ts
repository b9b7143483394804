import { isDeepStrictEqual } from 'node:util';
import { type Decider } from '../../kernel/decider';
import { decimalsOf } from '../../wire/record/minor-units';

/**
 * Exchange rates, in the stream `exchange-rates` (`docs/decisions.md#n12`).
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export interface RatesEvent {
  readonly type: 'ExchangeRatesPublished';
  readonly data: PublishedRates & { readonly at: string };
}

export interface PublishedRates {
  /** `2026-01-05`: the day that the rates are of. */
  readonly day: string;
  /** By ISO 4217 code: what a euro costs. */
  readonly rates: Readonly<Record<string, number>>;
}

/** The stream is `exchange-rates`: `streamOf` of this category and id. */
const [CATEGORY, ID] = ['exchange', 'rates'] as const;
export const RATES_ID = ID;
export const RATES_STREAM = `${CATEGORY}-${ID}`;

/** Rates that are known already, or older than these, change nothing. */
export const ratesDecider: Decider<RatesEvent['data'], PublishedRates | undefined, RatesEvent> = {
  category: CATEGORY,
  initial: undefined,
  supersedes: hasRates,
  decide: ({ at, day, rates }, known) => {
    if (known !== undefined && (day < known.day || isDeepStrictEqual({ day, rates }, known))) return [];
    return [{ type: 'ExchangeRatesPublished', data: { at, day, rates } }];
  },
  evolve: (known, event) => (hasRates(event) ? { day: event.data.day, rates: event.data.rates } : known),
};

/** False for an event of another program without rates. */
export function hasRates({ data }: { readonly data: object }): boolean {
  const { day, rates } = data as { readonly day?: unknown; readonly rates?: unknown };
  return typeof day === 'string' && typeof rates === 'object' && rates !== null;
}

/** An exchange of one currency for another. */
export interface Conversion {
  readonly from: string;
  readonly to: string;
  /** What one unit of `from` costs in `to`, as close as a number can be. */
  readonly rate: number;
  readonly day: string;
  /** An amount of `from` in `to`: rounded half away from zero to the minor unit of `to`, without any other rounding. */
  readonly convert: (amount: number) => number;
}

/** Undefined if there is no rate for one of the currencies, or nothing to convert. */
export function conversionOf(
  published: PublishedRates | undefined,
  from: string,
  to: string,
): Conversion | undefined {
  const [bought, sold] = [rateOf(published, to), rateOf(published, from)];
  if (published === undefined || bought === undefined || sold === undefined || from === to) return undefined;
  const [up, down] = [decimalOf(bought), decimalOf(sold)];
  const decimals = decimalsOf(to);
  const convert = (amount: number): number => {
    const { digits, scale } = decimalOf(amount);
    const units = rounded(
      10n ** BigInt(decimals) * digits * up.digits * 10n ** BigInt(down.scale),
      down.digits * 10n ** BigInt(scale + up.scale),
    );
    return Number(units) / 10 ** decimals;
  };
  return { from, to, rate: bought / sold, day: published.day, convert };
}

function rateOf(published: PublishedRates | undefined, currency: string): number | undefined {
  if (currency === 'EUR') return 1;
  return published !== undefined && Object.hasOwn(published.rates, currency)
    ? published.rates[currency]
    : undefined;
}

/** A number as it is written: `digits` divided by 10 to the power of `scale`. */
function decimalOf(number: number): { readonly digits: bigint; readonly scale: number } {
  const [mantissa = '', exponent = '0'] = String(number).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** A fraction rounded half away from zero; the divisor is positive. */
function rounded(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -divisor : divisor;
  return (2n * dividend + half) / (2n * divisor);
}
