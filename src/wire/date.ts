/** In milliseconds. */
export const DAY = 86_400_000;

const MILLISECONDS = /^-?\d{1,16}$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;
/** The largest distance of a date from 1970 (ms). */
const MAX_MILLISECONDS = 8.64e15;
/** Numbers between 1970 and this time (ms) are taken for seconds. */
const EARLIEST = Date.UTC(2001, 0);

/** Whether a number that should be milliseconds since 1970 was given in seconds (`docs/decisions.md#a17`). */
function isInSeconds(number: number): boolean {
  return number > 0 && number < EARLIEST;
}

/** What is expected in place of an unusable time: `otherwise`, unless it was given in seconds, also as text. */
export function expectedTime(value: unknown, otherwise: string): string {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  return isInSeconds(number)
    ? 'milliseconds since 1970, of 2001 or later (given in seconds? Multiply by 1000)'
    : otherwise;
}

/** A number of milliseconds since 1970; undefined if it was given in seconds, or is too far from 1970. */
export function milliseconds(number: number): number | undefined {
  return Math.abs(number) <= MAX_MILLISECONDS && !isInSeconds(number) ? number : undefined;
}

/**
 * A point in time, in milliseconds since 1970 (`docs/decisions.md#a17`): such a number, an ISO 8601 date (its
 * first instant, UTC), or a date-time with Z or an offset. Undefined for anything else, such as 30 February.
 */
export function readDate(text: string): number | undefined {
  if (MILLISECONDS.test(text)) return milliseconds(Number(text));
  if (DATE.test(text)) return dayOf(text);
  const [, date, hour, minute, second = '0', fraction = '0', , sign, offsetHour = '0', offsetMinute = '0'] =
    DATE_TIME.exec(text) ?? [];
  const day = date === undefined ? undefined : dayOf(date);
  if (day === undefined) return undefined;
  const [h, m, s, oh, om] = [hour, minute, second, offsetHour, offsetMinute].map(Number) as Five;
  if (h > 23 || m > 59 || s > 59 || oh > 23 || om > 59) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (oh * 60 + om);
  return day + ((h * 60 + m - offset) * 60 + s) * 1000 + Math.trunc(Number(`0.${fraction}`) * 1000 + 1e-6);
}

/** As an upper bound, a date without a time of day includes its whole day (`docs/decisions.md#a17`). */
export function asUpperBound(text: string, time: number | undefined): number | undefined {
  return time !== undefined && DATE.test(text) ? time + DAY - 1 : time;
}

/** How an answer writes points in time. */
export type DateFormat = 'epoch' | 'iso8601';

/** Milliseconds since 1970, or ISO 8601 in UTC. */
export type WrittenDate = number | string;

/** A point in time (epoch ms) as an answer writes it (Document 1, Search products; Document 2, List keys). */
export function writeDate(time: number, format: DateFormat): WrittenDate {
  return format === 'iso8601' ? new Date(time).toISOString() : time;
}

type Five = [number, number, number, number, number];

function dayOf(date: string): number | undefined {
  const [, year, month, day] = (DATE.exec(date) ?? []).map(Number);
  const instant = Date.parse(`${date}T00:00:00Z`);
  const same = new Date(instant);
  // XML Schema 1.0 has no year 0.
  const exists =
    year !== 0 &&
    same.getUTCFullYear() === year &&
    same.getUTCMonth() + 1 === month &&
    same.getUTCDate() === day;
  return exists ? instant : undefined;
}
