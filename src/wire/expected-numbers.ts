import { isInSeconds } from './date';

/** What messages say is expected in place of an unusable number: its range, if only that is wrong with it. */

const MOST = Number.MAX_SAFE_INTEGER;

export function expectedInteger(value: unknown): string {
  const isInteger = typeof value === 'string' ? /^-?\d+$/.test(value) : Number.isInteger(value);
  return isInteger || value === Infinity || value === -Infinity
    ? `an integer from -${MOST} to ${MOST}`
    : 'an integer';
}

export function expectedAmount(value: unknown): string {
  if (typeof value === 'number' && value > MOST) return `a number from 0 to ${MOST}`;
  const isNumber = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value);
  return isNumber
    ? 'a number from 0 with at most 15 digits before the dot and 15 behind it'
    : 'a number from 0 with a dot as decimal mark, such as 12.5';
}

/** In place of a time that is none; `otherwise`: what else is accepted. A number of seconds may be text or have decimals. */
export function expectedTime(value: unknown, otherwise: string): string {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  return isInSeconds(number)
    ? 'milliseconds since 1970, of 2001 or later (given in seconds? Multiply by 1000)'
    : otherwise;
}
