import { type VoucherContent } from './voucher';

/** A voucher as the read model keeps it; what belongs to the directory is joined when answering. Times in epoch ms. */
export interface StoredVoucher {
  readonly programId: number;
  readonly sourceId: string;
  readonly created: number;
  readonly updated: number;
  readonly voucher: VoucherContent;
}

/** With the id it is known by. */
export interface ListedVoucher extends StoredVoucher {
  readonly id: number;
}
