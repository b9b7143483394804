import { type Description } from '../wire/description';
import { schemaFiles } from '../wire/record-document';
import { voucherFaultTable } from './faults';
import { voucherOperations } from './operations';

/** The voucher service as its users see it (Document 2; in XML `docs/decisions.md#x61`). */
export const voucherDescription: Description = {
  title: 'Vouchers',
  description: 'Voucher offers of programs: posting, editing, listing, deleting; what each edit changed.',
  faults: voucherFaultTable,
  schemas: () => schemaFiles(voucherOperations),
  errorSchema: 'VoucherErrors_v1_0.xsd',
};
