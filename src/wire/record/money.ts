import { isCurrency } from '../iso-codes';
import { reading, type Scalar } from './record';
import { DOUBLE, orEmpty } from './kinds';

/**
 * An amount of money as a decimal number, posted and answered. Posted ones have at most four decimals, as many as any currency
 * has (`amountOf` checks how many its currency has), and zeros.
 */
export function money(): Scalar<number, number> {
  return {
    is: 'scalar',
    posted: {
      json: { ...DOUBLE, minimum: 0, maximum: MAX },
      xsd: orEmpty('money', PATTERN),
      read: reading(
        amountIn,
        `an amount from 0 with the decimals of its currency and a dot as decimal mark, such as 12.50, at most ${MAX}`,
        (value) => (isNumber(value) ? 'unusable' : 'notNumeric'),
      ),
    },
    answered: { json: DOUBLE, xsd: 'xs:decimal', write: (amount) => amount },
  };
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
  return {
    is: 'scalar',
    posted: {
      json: { type: 'string' },
      xsd: 'xs:string',
      read: reading(codeIn, 'an ISO 4217 code such as EUR'),
    },
    answered: { json: { type: 'string' }, xsd: 'xs:string', write: (code) => code },
  };
}
