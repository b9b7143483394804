/**
 * A posted price in minor units, or undefined if malformed (Document 1, Limits; `docs/decisions.md#p25`): text with
 * no decimals or two and a dot, no sign, no exponent; or a JSON number with at most two decimals.
 */
export function parsePrice(value: unknown): number | undefined {
  if (typeof value === 'number') {
    const minor = Math.round(value * 100);
    return value >= 0 && Number.isSafeInteger(minor) && minor / 100 === value ? minor : undefined;
  }
  if (typeof value !== 'string' || !/^\d{1,15}(?:\.\d{2})?$/.test(value)) return undefined;
  const minor = Math.round(Number(value) * 100);
  return Number.isSafeInteger(minor) ? minor : undefined;
}

/** The highest price. */
export const MAX_PRICE = Number.MAX_SAFE_INTEGER / 100;

/** Minor units as text with two decimals: `1250` is `12.50`. */
export function formatPrice(minor: number): string {
  const cents = minor % 100;
  return `${(minor - cents) / 100}.${cents < 10 ? '0' : ''}${cents}`;
}

/** What messages say is expected in place of an unusable price. */
export function expectedPrice(value: unknown): string {
  const amount = typeof value === 'string' && /^\d+(?:\.\d{2})?$/.test(value) ? Number(value) : value;
  return typeof amount === 'number' && amount > MAX_PRICE
    ? `an amount of at most ${formatPrice(Number.MAX_SAFE_INTEGER)}`
    : 'an amount without a sign, with no decimals or two and a dot, such as 12 or 12.50';
}
