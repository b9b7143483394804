import { csvRows } from '../../wire/csv/read';
import { isCurrency } from '../../wire/iso-codes';
import { NotParsable, utf8Text } from '../../wire/bytes';
import { readXml } from '../../wire/xml/read';
import { type PublishedRates } from './rates';

/** The content is not what the European Central Bank publishes. The message follows the name of the source. */
export class UnusableRates extends Error {
  override readonly name = 'UnusableRates';
}

/**
 * The newest rates in a file of the European Central Bank, XML or CSV, of one day or of many. Currencies without a rate (`N/A`),
 * and those that ISO 4217 does not have any more, are left out. Raises `UnusableRates`: nothing is guessed.
 */
export function ratesIn(bytes: Buffer): PublishedRates {
  try {
    const isXml = bytes
      .subarray(0, 100)
      .toString('latin1')
      .trimStart()
      .replace(/^\xef\xbb\xbf/, '')
      .startsWith('<');
    const newest = isXml ? newestInXml(bytes) : newestInCsv(utf8Text(bytes).replace(/^\ufeff/, ''));
    if (newest === undefined) throw new UnusableRates('it has no day with rates');
    return { day: newest.day, rates: ratesOf(newest) };
  } catch (error) {
    throw error instanceof NotParsable ? new UnusableRates(error.message) : error;
  }
}

/** The rates of a day, as they are written. */
interface Day {
  readonly day: string;
  readonly rates: readonly (readonly [currency: string, rate: string])[];
}

function newestInXml(bytes: Buffer): Day | undefined {
  let newest: { day: string; rates: [string, string][] } | undefined;
  let isNewest = false;
  const reader = readXml({
    open: (name, { time, currency, rate }) => {
      if (name !== 'Cube') return;
      if (time !== undefined) {
        const day = dayIn(time);
        isNewest = newest === undefined || day > newest.day;
        if (isNewest) newest = { day, rates: [] };
      } else if (currency !== undefined && isNewest) newest?.rates.push([currency, rate ?? '']);
    },
    text: () => undefined,
    close: () => undefined,
  });
  reader.write(bytes);
  reader.end();
  return newest;
}

function newestInCsv(text: string): Day | undefined {
  let header: readonly string[] | undefined;
  let newest: { readonly day: string; readonly cells: readonly string[] } | undefined;
  for (const row of csvRows(text, ',')) {
    const cells = row.cells.map((cell) => cell.trim());
    if (header === undefined) {
      header = cells;
      if (header[0]?.toLowerCase() !== 'date')
        throw new UnusableRates('expected a first line that begins with Date');
      continue;
    }
    const day = dayIn(cells[0] ?? '');
    if (newest === undefined || day > newest.day) newest = { day, cells };
  }
  if (header === undefined || newest === undefined) return undefined;
  const { day, cells } = newest;
  if (cells.length !== header.length)
    throw new UnusableRates(`the line of ${day} has another number of cells`);
  const rates = header.map((currency, at) => [currency, cells[at] ?? ''] as const).slice(1);
  return { day, rates: rates.filter(([currency]) => currency !== '') };
}

const RATE = /^\d{1,9}(\.\d{1,10})?$/;

function ratesOf({ day, rates }: Day): Readonly<Record<string, number>> {
  const known = new Map<string, number>();
  for (const [currency, rate] of rates) {
    if (!/^[A-Z]{3}$/.test(currency)) throw new UnusableRates(`"${currency}" of ${day} is no currency`);
    if (!isCurrency(currency) || rate === 'N/A' || rate === '') continue;
    if (!RATE.test(rate) || Number(rate) === 0)
      throw new UnusableRates(`"${rate}" is no rate of ${currency} (${day})`);
    if (known.has(currency)) throw new UnusableRates(`${currency} has two rates on ${day}`);
    known.set(currency, Number(rate));
  }
  known.delete('EUR');
  if (known.size === 0) throw new UnusableRates(`it has no rates of ${day}`);
  return Object.fromEntries([...known].sort(([one], [other]) => (one < other ? -1 : 1)));
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** `2026-01-05`, or as in the daily CSV `05 January 2026`. */
function dayIn(text: string): string {
  const [, date, name = '', year] = /^(\d{1,2}) ([A-Z][a-z]+) (\d{4})$/.exec(text) ?? [];
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, '0');
  const day = date === undefined ? text : `${year}-${month}-${date.padStart(2, '0')}`;
  const instant = Date.parse(`${day}T00:00:00Z`);
  if (
    !/^\d{4}-\d\d-\d\d$/.test(day) ||
    Number.isNaN(instant) ||
    !new Date(instant).toISOString().startsWith(day)
  )
    throw new UnusableRates(`"${text.slice(0, 40)}" is no day`);
  return day;
}
