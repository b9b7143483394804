import { type Format } from '../../wire/api/format';
import { calendar } from '../../wire/icalendar';
import { type ListText } from '../../wire/record/list-text';
import { documentWriter } from '../../wire/record/document';
import { listWriter } from '../../wire/record/list';
import { type OutputVoucher } from './fields';
import { VOUCHER_VERSIONS, VOUCHERS } from './operations';

const vouchersText = listWriter(VOUCHERS);

/** Writes a listing (Document 2, Voucher returned by the list operation; `docs/decisions.md#v17`). */
export function listText(
  view: { readonly format: Format; readonly pretty: boolean },
  vendor: string,
): ListText<OutputVoucher> {
  return view.format === 'ics' ? calendarText(vendor) : vouchersText(view);
}

export const toXmlVersions = documentWriter(VOUCHER_VERSIONS);

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
