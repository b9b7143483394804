const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.now();

/** A voucher to post for the only program; two in three are valid now. */
export function postedVoucher(number: number, sourceId: string) {
  return {
    programId: 11,
    voucherTypeId: (number % 4) + 3,
    title: `Offer ${number % 1000} of the season`,
    shortDescription: 'Less to pay for what is in the basket',
    description: `Number ${number}. `.repeat(30),
    startDate: NOW - DAY,
    endDate: NOW + ((number % 90) + 1) * DAY,
    ...(number % 3 === 0 ? { publishStartDate: NOW + DAY } : {}),
    landingUrl: `https://shop.example/offers/${number}`,
    sourceId,
  };
}
