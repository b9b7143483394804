/** Document 2, Voucher types: what a voucher of each must have beside what all must. */
export const VOUCHER_TYPES = {
  1: { name: 'Voucher', needs: 'code' },
  2: { name: 'Discount', needs: 'discountAmount' },
  3: { name: 'Free article' },
  4: { name: 'Free shipping' },
  5: { name: 'Raffle' },
  6: { name: 'Promotion' },
} as const satisfies Readonly<
  Record<number, { readonly name: string; readonly needs?: 'code' | 'discountAmount' }>
>;

export type VoucherTypeId = keyof typeof VOUCHER_TYPES;
