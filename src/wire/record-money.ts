import { isCurrency } from './iso-codes';
import { reading, type Scalar } from './record';
import { DOUBLE, orEmpty } from './record-kinds';

/** An amount of money with at most two decimals, read to hundredths; answers have it as a number with decimals. */
export function money(): Scalar<number, number> {
  const limit = `, at most ${MAX_HUNDREDTHS / 100}`;
  return {
    is: 'scalar',
    posted: {
      json: { ...DOUBLE, minimum: 0, maximum: MAX_HUNDREDTHS / 100 },
      xsd: orEmpty('money', PATTERN),
      read: reading(
        hundredthsIn,
        `an amount from 0 with at most two decimals and a dot as decimal mark, such as 12.50${limit}`,
        (value) => (isNumber(value) ? 'unusable' : 'notNumeric'),
      ),
    },
    answered: { json: DOUBLE, xsd: 'xs:decimal', write: (amount) => amount },
  };
}

const MAX_HUNDREDTHS = 10_000_000_000_000;
/** Of the same limit: eleven digits, or that number itself. */
const PATTERN = `\\d{1,11}(\\.\\d{1,2})?|${MAX_HUNDREDTHS / 100}(\\.0{1,2})?`;
const MONEY = new RegExp(`^(${PATTERN})$`);

function hundredthsIn(value: unknown): number | undefined {
  const found = typeof value === 'string' && MONEY.test(value) ? Number(value) : value;
  if (typeof found !== 'number' || !(found >= 0)) return undefined;
  // Adding 0 makes -0 a 0.
  const hundredths = Math.round(found * 100) + 0;
  return hundredths <= MAX_HUNDREDTHS && hundredths / 100 === found ? hundredths : undefined;
}

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
      isText: true,
      read: reading(codeIn, 'an ISO 4217 code such as EUR'),
    },
    answered: { json: { type: 'string' }, xsd: 'xs:string', write: (code) => code },
  };
}
