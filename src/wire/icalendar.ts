import { type ListText } from './record/list';

/** An event of a calendar; times in epoch ms, written to the second. */
export interface CalendarEvent {
  /** Permanent and globally unique. */
  readonly uid: string;
  readonly changed: number;
  readonly start: number;
  readonly end: number;
  readonly summary: string;
  readonly description: string;
  readonly url: string;
}

/** The only component of a calendar without events: RFC 5545 requires at least one. */
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

/** Bytes of a line, without its end. */
const LINE = 75;

/** Long lines continue in the next line after a space; no character is split. */
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
      // The space counts.
      size = 1;
    }
    part += character;
    size += bytes;
  }
  return [...parts, part].join('\r\n ');
}
