import { faultsOf } from '../../kernel/fault';

/** Document 2, Errors: voucher creation. What each is used for: `docs/decisions.md#v14`. */
export const voucherFaultTable = {
  invalidVoucher: ['101', 400, 'Invalid voucher information'],
  noAccess: ['102', 400, 'No access to the program'],
  notConnected: ['103', 400, 'No connection between program and site'],
} as const;

export const voucherFaults = faultsOf(voucherFaultTable);
