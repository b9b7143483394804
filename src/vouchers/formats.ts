import { csvLines } from '../wire/csv-write';
import { type Format } from '../wire/format';
import { calendar } from '../wire/icalendar';
import { jsonList, type ListText, xmlList } from '../wire/list-text';
import { type XmlElement } from '../wire/xml-write';
import { LISTED_FIELDS, type OutputVoucher } from './fields';

/** How a listing is written (Document 2, Voucher returned by the list operation; `docs/decisions.md#v17`). */
export function listText(
  view: { readonly format: Format; readonly pretty: boolean },
  vendor: string,
): ListText<OutputVoucher> {
  switch (view.format) {
    case 'csv':
      return csvText();
    case 'ics':
      return calendarText(vendor);
    case 'xml': {
      // The root is the list: one child per field in each of its elements.
      const text = xmlList(view, { voucherList: {} }, { list: 'voucherList', item: 'voucher', depth: 0 });
      return { ...text, item: (voucher, isFirst) => text.item({ ...voucher }, isFirst) };
    }
    default:
      return jsonList(view);
  }
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

function csvText(): ListText<OutputVoucher> {
  const lineOf = csvLines([','], '"');
  const header = lineOf(COLUMNS);
  const item = (voucher: OutputVoucher): string =>
    lineOf(
      COLUMNS.map((column) => {
        const value = voucher[column];
        return typeof value === 'boolean' ? String(value) : value;
      }),
    );
  return { empty: header, head: header, item, foot: '' };
}

/** One event for each voucher, from its start to its end. */
function calendarText(vendor: string): ListText<OutputVoucher> {
  const { item, ...text } = calendar(`-//${vendor}//vouchers//EN`);
  return {
    ...text,
    item: (voucher, isFirst) =>
      item(
        {
          uid: `voucher-${voucher.id}@${vendor}`,
          changed: instantOf(voucher.updateDate),
          start: instantOf(voucher.startDate),
          end: instantOf(voucher.endDate),
          summary: voucher.title,
          description: voucher.shortDescription,
          url: voucher.defaultTrackUri,
        },
        isFirst,
      ),
  };
}

function instantOf(date: number | string): number {
  return new Date(date).getTime();
}
