import { isCurrency } from '../iso-codes';
import { DOUBLE, orEmpty, scalar } from './kinds';
import { reading, type Scalar } from './record';

/**
 * Amounts of money. In memory and in read models an amount is an integer of `scaleOf` its currency: of minor units, or
 * of hundredths where the currency has fewer decimals, since events of the first version have hundredths whatever the
 * currency. So reading them rounds nothing.
 */

/** Decimals of the minor unit of a currency (ISO 4217) that has others than two. */
const DECIMALS: Readonly<Record<string, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** Decimals of the currencies that have others than two, by ISO 4217 code. */
export const DECIMALS_OF: ReadonlyMap<string, number> = new Map(
  Object.entries(DECIMALS).flatMap(([decimals, codes]) =>
    codes.split(' ').map((code) => [code, Number(decimals)] as const),
  ),
);

const HUNDREDTHS = 2;

/** Decimals of the minor unit of a currency. */
export function decimalsOf(currency: string): number {
  return DECIMALS_OF.get(currency) ?? HUNDREDTHS;
}

/** As most currencies: their amounts are stored as they are in memory. */
export function hasHundredths(currency: string): boolean {
  return decimalsOf(currency) === HUNDREDTHS;
}

/** Decimals of an amount in memory. */
export function scaleOf(currency: string): number {
  return Math.max(HUNDREDTHS, decimalsOf(currency));
}

/** One minor unit of a currency as an amount in memory. */
export function minorUnitOf(currency: string): number {
  return 10 ** (scaleOf(currency) - decimalsOf(currency));
}

/** Up to this decimal number no two amounts of a currency are the same number: 70368744177664 with two decimals. */
function largestOf(currency: string): number {
  return 2 ** Math.floor(Math.log2(2 ** 53 / 10 ** scaleOf(currency)));
}

/** A decimal number as an amount in memory; undefined if it has more decimals than the minor unit, or is too large. */
export function amountOf(decimal: number, currency: string): number | undefined {
  if (decimal > largestOf(currency)) return undefined;
  const factor = 10 ** decimalsOf(currency);
  // Adding 0 makes -0 a 0.
  const units = Math.round(decimal * factor) + 0;
  return units / factor === decimal ? units * minorUnitOf(currency) : undefined;
}

/** Posted decimal numbers as amounts in memory; `refuse` gets those that `amountOf` does not accept. */
export function amountsIn<Name extends string>(
  posted: { readonly [Each in Name]?: number | undefined },
  names: readonly Name[],
  currency: string,
  refuse: (name: Name, decimal: number, expected: string) => void,
): { readonly [Each in Name]?: number } {
  const amounts: { [Each in Name]?: number } = {};
  for (const name of names) {
    const decimal = posted[name];
    if (decimal === undefined) continue;
    const amount = amountOf(decimal, currency);
    if (amount === undefined) refuse(name, decimal, expectedAmount(currency, decimal));
    else amounts[name] = amount;
  }
  return amounts;
}

/** What `amountOf` accepts in place of a number, for messages; without a currency, two decimals. */
export function expectedAmount(currency: string, found: number): string {
  const largest = largestOf(currency);
  if (found > largest) return `an amount of at most ${largest}`;
  const decimals = decimalsOf(currency);
  const most = decimals === 0 ? 'without decimals' : `with at most ${WORDS[decimals]} decimals`;
  const whose = currency === '' ? '' : ` as ${currency} has them,`;
  return `an amount ${most},${whose} such as ${(12.5).toFixed(decimals)}`;
}

const WORDS: Readonly<Record<number, string>> = { 2: 'two', 3: 'three', 4: 'four' };

/** An amount in memory as a decimal number, for answers. */
export function decimalOf(amount: number, currency: string): number {
  return amount / 10 ** scaleOf(currency);
}

/** An amount in memory as text with the decimals of its currency; with more if an older event has more. */
export function textOf(amount: number, currency: string): string {
  const isWhole = amount % minorUnitOf(currency) === 0;
  return decimalOf(amount, currency).toFixed(isWhole ? decimalsOf(currency) : scaleOf(currency));
}

/** The decimals of all amounts of an event. Absent: two, as all have them in events of the first version. */
export interface StoredDecimals {
  readonly decimals?: number;
}

/** How an event stores these amounts: in minor units, unless one was read from an event that has more decimals. */
export function storedDecimals(amounts: Iterable<number | undefined>, currency: string): StoredDecimals {
  const unit = minorUnitOf(currency);
  const isWhole = [...amounts].every((amount = 0) => amount % unit === 0);
  const decimals = isWhole ? decimalsOf(currency) : scaleOf(currency);
  return decimals === HUNDREDTHS ? {} : { decimals };
}

/** The amounts in `names` of a record as an event stores them. */
export function toStored<Record extends object>(
  record: Record,
  names: readonly (keyof Record)[],
  currency: string,
  stored: StoredDecimals,
): Record {
  const factor = factorOf(currency, stored);
  return scaled(record, names, factor, (amount) => amount / factor);
}

/** The amounts in `names` of a record of an event as they are in memory. */
export function fromStored<Record extends object>(
  record: Record,
  names: readonly (keyof Record)[],
  currency: string,
  stored: StoredDecimals,
): Record {
  const factor = factorOf(currency, stored);
  return scaled(record, names, factor, (amount) => amount * factor);
}

function factorOf(currency: string, { decimals = HUNDREDTHS }: StoredDecimals): number {
  return 10 ** (scaleOf(currency) - decimals);
}

function scaled<Record extends object>(
  record: Record,
  names: readonly (keyof Record)[],
  factor: number,
  scale: (amount: number) => number,
): Record {
  if (factor === 1) return record;
  const present = names.flatMap((name) => {
    const value = record[name];
    return typeof value === 'number' ? [[name, scale(value)] as const] : [];
  });
  return { ...record, ...Object.fromEntries(present) };
}

/**
 * An amount of money as a decimal number, posted and answered. Posted ones have at most four decimals, as many as any
 * currency has (`amountOf` checks how many its currency has), and zeros.
 */
export function money(): Scalar<number, number> {
  const read = reading(
    amountIn,
    `an amount from 0 with the decimals of its currency and a dot as decimal mark, such as 12.50, at most ${MAX}`,
    (value) => (isNumber(value) ? 'unusable' : 'notNumeric'),
  );
  const json = { ...DOUBLE, minimum: 0, maximum: MAX };
  return scalar({ json, xsd: orEmpty('money', PATTERN), read }, { json: DOUBLE, xsd: 'xs:decimal' });
}

const MAX = 100_000_000_000;
/** Of the same limit: eleven digits, or that number itself. */
const PATTERN = `\\d{1,11}(\\.\\d{1,4}0*)?|${MAX}(\\.0+)?`;
const MONEY = new RegExp(`^(${PATTERN})$`);

function amountIn(value: unknown): number | undefined {
  const found = typeof value === 'string' && MONEY.test(value) ? Number(value) : value;
  if (typeof found !== 'number' || !(found >= 0) || found > MAX) return undefined;
  // Adding 0 makes -0 a 0.
  return Math.round(found * FACTOR) / FACTOR === found ? found + 0 : undefined;
}

const FACTOR = 10_000;

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
}

/** ISO 4217, in whatever case. */
export function currency(): Scalar<string, string> {
  const codeIn = (value: unknown) => {
    const code = typeof value === 'string' ? value.toUpperCase() : '';
    return isCurrency(code) ? code : undefined;
  };
  const read = reading(codeIn, 'an ISO 4217 code such as EUR');
  return scalar({ json: { type: 'string' }, xsd: 'xs:string', read });
}

/** A currency in 16 bits: three letters in base 26, from 1. Any other text, such as an empty one, is 0. */
export function currencyCode(currency: string): number {
  if (currency.length !== 3) return 0;
  let code = 0;
  for (let at = 0; at < 3; at += 1) {
    const letter = currency.charCodeAt(at) - A;
    if (letter < 0 || letter >= LETTERS) return 0;
    code = code * LETTERS + letter;
  }
  return code + 1;
}

/** The inverse of `currencyCode`; empty for 0. */
export function currencyOfCode(code: number): string {
  if (code === 0) return '';
  const letters = [(code - 1) / LETTERS ** 2, (code - 1) / LETTERS, code - 1];
  return String.fromCharCode(...letters.map((letter) => (Math.floor(letter) % LETTERS) + A));
}

const LETTERS = 26;
const A = 'A'.charCodeAt(0);
