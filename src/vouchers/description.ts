import { type Description } from '../wire/description';
import { voucherFaultTable } from './faults';
import { voucherSchemas } from './xml-schemas';

/** The voucher service as it is described to those who use it (Document 2). */
export const voucherDescription: Description = {
  title: 'Vouchers',
  description: 'Voucher offers of programs: posting, editing, listing, deleting; what has become of one.',
  faults: voucherFaultTable,
  schemas: voucherSchemas,
  errorSchema: 'VoucherErrors_v1_0.xsd',
};
