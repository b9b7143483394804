import { type OperationText, type PostedShape, type Shape } from '../wire/description';
import { INTEGER } from '../wire/key-types';
import {
  bulkResults,
  listedVoucher,
  listedVouchers,
  postedVoucher,
  postedVouchers,
  voucherKey,
  voucherVersions,
} from './shapes';

const VOUCHER_ID = { id: { type: INTEGER, description: 'Id of the voucher' } } as const;

const EXAMPLE = {
  title: 'Ten per cent off lamps',
  programId: 101,
  voucherTypeId: 1,
  code: 'LAMPS-10',
  shortDescription: 'Ten per cent off',
  description: 'Ten per cent off all lamps, once per customer.',
  startDate: 1767225600000,
  endDate: 1769904000000,
  sourceId: 'lamps-10',
} as const;

const POSTED: PostedShape = {
  name: 'PostedVoucher',
  json: postedVoucher,
  xml: 'Voucher_v1_0.xsd',
  examples: {
    json: EXAMPLE,
    xml: `<voucher>
${Object.entries(EXAMPLE)
  .map(([name, value]) => `  <${name}>${value}</${name}>`)
  .join('\n')}
</voucher>`,
  },
};

const LISTED: Shape = {
  name: 'Vouchers',
  json: listedVouchers,
  parts: { Voucher: listedVoucher },
  xml: 'VoucherList_v1_0.xsd',
};

/** What is told of the operations of Document 2, Endpoints, Vouchers, and of those beyond it (`docs/decisions.md#v17`). */
export const voucherOperations = {
  listVouchers: {
    id: 'listVouchers',
    summary: 'List and export vouchers',
    description:
      'Publishers see what is published now and has not ended, advertisers all of their own; the newest come first. ' +
      'CSV has the fields of a voucher as columns, iCalendar an event for each.',
    example: { pageSize: 3, pretty: true },
    answer: LISTED,
  },
  postVoucher: {
    id: 'postVoucher',
    summary: 'Create or edit a voucher',
    description:
      'A sourceId that is known in the program, or the id of one of its vouchers, edits that voucher: all fields are ' +
      'replaced. The answer is the id.',
    example: {},
    body: POSTED,
    answer: { name: 'VoucherKey', json: voucherKey, xml: 'VoucherKey_v1_0.xsd' },
  },
  postVouchers: {
    id: 'postVouchers',
    summary: 'Create or edit several vouchers',
    description: 'Each is judged by itself: the answer has an id or an error list for each, in their order.',
    example: {},
    body: { name: 'PostedVouchers', json: postedVouchers, examples: { json: [EXAMPLE] } },
    answer: { name: 'BulkResults', json: bulkResults },
  },
  deleteVoucher: {
    id: 'deleteVoucher',
    summary: 'Delete a voucher',
    example: {},
    path: VOUCHER_ID,
  },
  listVersions: {
    id: 'listVersions',
    summary: 'What has become of a voucher',
    description: 'For its owner: which fields each edit has changed, after a deletion too; the last 1,000.',
    example: {},
    path: VOUCHER_ID,
    answer: { name: 'VoucherVersions', json: voucherVersions, xml: 'VoucherVersions_v1_0.xsd' },
  },
} as const satisfies Readonly<Record<string, OperationText>>;
