import { type ListText } from './list-text';

/** An event of a calendar; times in epoch ms, written to the second. */
export interface CalendarEvent {
  /** The same for the same thing for ever, different from all others' in the world. */
  readonly uid: string;
  readonly changed: number;
  readonly start: number;
  readonly end: number;
  readonly summary: string;
  readonly description: string;
  readonly url: string;
}

/** What a calendar without events has: RFC 5545 asks for one component at least, and this one stands for nothing. */
const TIME_ZONE = [
  ['BEGIN', 'VTIMEZONE'],
  ['TZID', 'Etc/UTC'],
  ['BEGIN', 'STANDARD'],
  ['DTSTART', '19700101T000000'],
  ['TZOFFSETFROM', '+0000'],
  ['TZOFFSETTO', '+0000'],
  ['END', 'STANDARD'],
  ['END', 'VTIMEZONE'],
] as const;

/** An iCalendar document (RFC 5545). */
export function calendar(product: string): ListText<CalendarEvent> {
  const head = lines([
    ['BEGIN', 'VCALENDAR'],
    ['VERSION', '2.0'],
    ['PRODID', text(product)],
  ]);
  const foot = lines([['END', 'VCALENDAR']]);
  return { empty: head + lines(TIME_ZONE) + foot, head, item: eventText, foot };
}

function eventText({ uid, changed, start, end, summary, description, url }: CalendarEvent): string {
  return lines([
    ['BEGIN', 'VEVENT'],
    ['UID', text(uid)],
    ['DTSTAMP', instant(changed)],
    ['DTSTART', instant(start)],
    ['DTEND', instant(end)],
    ['SUMMARY', text(summary)],
    ['DESCRIPTION', text(description)],
    ['URL', url],
    ['END', 'VEVENT'],
  ]);
}

function lines(properties: readonly (readonly [name: string, value: string])[]): string {
  return properties.map(([name, value]) => `${folded(`${name}:${value}`)}\r\n`).join('');
}

/** `20260301T120000Z` */
function instant(time: number): string {
  return new Date(time)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '');
}

function text(value: string): string {
  return value.replaceAll(/[\\;,]/g, '\\$&').replaceAll(/\r\n|\r|\n/g, '\\n');
}

/** Bytes that a line may have, its end not counted. */
const LINE = 75;

/** A long line goes on in the next one behind a blank; no character is cut. */
function folded(line: string): string {
  if (line.length * 3 <= LINE) return line;
  const parts: string[] = [];
  let part = '';
  let size = 0;
  for (const character of line) {
    const bytes = Buffer.byteLength(character);
    if (size + bytes > LINE) {
      parts.push(part);
      part = '';
      // The blank counts.
      size = 1;
    }
    part += character;
    size += bytes;
  }
  return [...parts, part].join('\r\n ');
}
