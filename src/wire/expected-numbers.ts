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

/** Posted times before this one are taken for seconds (ms). */
export const EARLIEST_TIME = Date.UTC(2001, 0);

export function expectedTime(value: unknown): string {
  // An object may have a `toString` of its own, which is no function.
  const time = typeof value === 'object' ? NaN : Number(value);
  return time > 0 && time < EARLIEST_TIME
    ? 'milliseconds since 1970, of 2001 or later (seconds have to be multiplied by 1000)'
    : 'milliseconds since 1970';
}
