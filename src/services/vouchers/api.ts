import { operationsById, shape, type Shape } from '../../wire/api/description';
import { INTEGER } from '../../wire/keys/keys';
import { IGNORED_FIELDS, ITEM_HELP } from '../../wire/keys/name-list';
import { SINCE_HEADERS } from '../../wire/keys/pages';
import {
  bulkResults,
  listedVouchers,
  postedVoucher,
  postedVouchers,
  voucherKey,
  voucherVersions,
} from './fields';

/** Headers of posts (`docs/decisions.md#a15`). */
const POSTED = {
  ...IGNORED_FIELDS,
  'X-Dry-Run':
    '`true` with dryRun=true: nothing was stored; the id of a voucher that does not exist yet is 0',
} as const;

const VOUCHER_ID = { id: { type: INTEGER, description: 'Id of the voucher', example: 1 } } as const;

export const VOUCHERS = {
  name: 'Vouchers',
  kind: listedVouchers,
  xml: { file: 'VoucherList_v1_0.xsd', root: 'voucherList' },
  examples: {
    ics:
      'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Affilog//vouchers//EN\r\nBEGIN:VEVENT\r\nUID:voucher-1@affilog\r\n' +
      'DTSTAMP:20261101T093000Z\r\nDTSTART:20261101T000000Z\r\nDTEND:20270130T000000Z\r\nSUMMARY:Ten per cent off lamps\r\n' +
      'DESCRIPTION:Ten per cent off\r\nURL:https://clk.example/click?p=101\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
  },
} as const satisfies Shape;

/** The operations of Document 2, Endpoints, Vouchers, and those beyond it (`docs/decisions.md#v17`). */
export const voucherApi = operationsById({
  listVouchers: {
    summary: 'List and export vouchers',
    description:
      'Publishers see vouchers that are published and have not ended, advertisers all of their own; newest first. ' +
      'CSV has a column for each field, iCalendar an event for each voucher.',
    example: { pageSize: 3 },
    answer: VOUCHERS,
    sends: { 'X-Page-Size': 'Vouchers on a page, if the request asked for more', ...SINCE_HEADERS },
  },
  postVoucher: {
    summary: 'Create or edit a voucher',
    description:
      'A sourceId that is known in the program edits that voucher: all fields are replaced. The id of a voucher that ' +
      'was posted without a sourceId is its sourceId. The answer is the id. At most 1 MiB.',
    body: { name: 'PostedVoucher', kind: postedVoucher, xml: { file: 'Voucher_v1_0.xsd', root: 'voucher' } },
    answer: {
      ...shape('VoucherKey', voucherKey),
      examples: { xml: '<?xml version="1.0" encoding="UTF-8"?><long>1</long>' },
    },
    sends: POSTED,
  },
  postVouchers: {
    summary: 'Create or edit several vouchers',
    description:
      'Each is validated separately: the answer has an id or an error list for each, in order. At most 1,000 of ' +
      'them, 8 MiB in all and 1 MiB each.',
    body: { name: 'PostedVouchers', kind: postedVouchers },
    answer: { name: 'BulkResults', kind: bulkResults },
    sends: { ...POSTED, ...ITEM_HELP },
  },
  deleteVoucher: { summary: 'Delete a voucher', path: VOUCHER_ID },
  listVersions: {
    summary: 'List what each edit of a voucher changed',
    description:
      'For its owner, even after a deletion; the last 1,000, oldest first: the fields that changed, with their values before ' +
      'and after.',
    path: VOUCHER_ID,
    answer: shape('VoucherVersions', voucherVersions),
  },
});
