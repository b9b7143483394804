import { START } from '../../../src/kernel/event';
import { type VoucherPost } from '../../../src/domain/vouchers/voucher';

export const AT = '2026-03-01T12:00:00.000Z';

/** A voucher that has been checked: of program 101, without a `sourceId`. */
export function checked(voucher: Partial<VoucherPost['voucher']> = {}, sourceId?: string): VoucherPost {
  return {
    programId: 101,
    ...(sourceId === undefined ? {} : { sourceId }),
    voucher: {
      title: 'Free delivery',
      voucherTypeId: 4,
      shortDescription: 'free',
      description: 'Delivered for nothing',
      startDate: '2026-03-01T00:00:00.000Z',
      endDate: '2026-04-01T00:00:00.000Z',
      ...voucher,
    },
    currency: { code: 'EUR', since: START },
  };
}
