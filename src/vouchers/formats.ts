import { csvLines } from '../wire/csv-write';
import { calendarPieces } from '../wire/icalendar';
import { type XmlElement } from '../wire/xml-write';
import { LISTED_FIELDS, type OutputVoucher } from './fields';

/** Document 2, Voucher returned by the list operation: root `voucherList`, one child per field. */
export function toXmlList(vouchers: readonly OutputVoucher[]): XmlElement {
  return { voucherList: { voucher: vouchers.map((voucher) => ({ ...voucher })) } };
}

/** A version as it is told: its time as the request wants dates. */
interface OutputVersion {
  readonly version: number;
  readonly time: number | string;
  readonly changed: readonly string[];
}

/** `docs/decisions.md#v17`. */
export function toXmlVersions(versions: readonly OutputVersion[]): XmlElement {
  return {
    versions: {
      version: versions.map(({ version, time, changed }) => ({ $: { version, time }, changed })),
    },
  };
}

const COLUMNS = Object.keys(LISTED_FIELDS) as readonly (keyof typeof LISTED_FIELDS)[];

/** Lines of CSV, the header first (`docs/decisions.md#v17`). */
export function* csvPieces(vouchers: readonly OutputVoucher[]): Generator<string> {
  const lineOf = csvLines([','], '"');
  yield lineOf(COLUMNS);
  for (const voucher of vouchers)
    yield lineOf(
      COLUMNS.map((column) => {
        const value = voucher[column];
        return typeof value === 'boolean' ? String(value) : value;
      }),
    );
}

/** One event for each voucher, from its start to its end (`docs/decisions.md#v17`). */
export function calendarOf(vouchers: readonly OutputVoucher[], vendor: string): Iterable<string> {
  const events = vouchers.map((voucher) => ({
    uid: `voucher-${voucher.id}@${vendor}`,
    changed: instantOf(voucher.updateDate),
    start: instantOf(voucher.startDate),
    end: instantOf(voucher.endDate),
    summary: voucher.title,
    description: voucher.shortDescription,
    url: voucher.defaultTrackUri,
  }));
  return calendarPieces(`-//${vendor}//vouchers//EN`, events);
}

function instantOf(date: number | string): number {
  return new Date(date).getTime();
}
