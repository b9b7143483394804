/** A posted object, whatever it holds. */
export type Posted = Readonly<Record<string, unknown>>;

/** Where a value stands; made only when there is something to say of it. */
export type Place = string | (() => string);

export function isPosted(value: unknown): value is Posted {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Absent, null and empty are all the same: not set. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** A whole number, or text of digits that is one (`docs/decisions.md#a11`); undefined for anything else. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) + 0 : undefined;
}

/** What is said of an unusable value: the field, what would be accepted, and the value, cut where it is long. */
export function wrong(field: Place, value: unknown, accepted: string): string {
  const name = typeof field === 'string' ? field : field();
  const shown = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined);
  return `${name} must be ${accepted}, not '${(shown ?? '').slice(0, 100)}'`;
}
