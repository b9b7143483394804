import { readDate } from '../date';
import { reading, type Scalar } from './record';
import { orEmpty } from './kinds';

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A day, `YYYY-MM-DD` (Document 3). */
export function day(): Scalar<string, string> {
  return {
    is: 'scalar',
    posted: {
      json: { type: 'string', format: 'date' },
      xsd: orEmpty('day', '\\d{4}-\\d\\d-\\d\\d'),
      read: reading(dayIn, 'a date such as 2026-03-31', 'notDate'),
    },
    answered: { json: { type: 'string', format: 'date' }, xsd: 'xs:date', write: (day) => day },
  };
}

function dayIn(value: unknown): string | undefined {
  return typeof value === 'string' && DAY.test(value) && readDate(value) !== undefined ? value : undefined;
}
