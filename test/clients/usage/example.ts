/** What all clients post and search. */
const { CATEGORY, FEED, NOW, ORDER } = process.env;

export const fid = Number(FEED);

export const products = [
  {
    sourceProductId: 'made-1',
    name: 'Käse & Wein, 1/2',
    description: 'Posted by a generated client',
    productUrl: 'https://shop.example/made-1',
    price: 12.5,
    productImage: { url: 'https://img.example/made-1.jpg' },
    categories: [{ id: CATEGORY ?? '', name: 'Own' }],
  },
];

/** A key of each type. */
export const search = {
  fid: [fid],
  q: ['wein', 'nothing'],
  minPrice: 12.5,
  priceHistory: true,
  orderBy: 'priceAsc',
  dateOutputFormat: 'iso8601',
  page: 1,
  pageSize: 10,
} as const;

export const voucher = {
  title: 'Made',
  programId: 101,
  voucherTypeId: 4,
  shortDescription: 'Made',
  description: 'Made by a generated client',
  startDate: Number(NOW),
  endDate: Number(NOW) + 86_400_000,
} as const;

/** Its value has more digits than a number of single precision. */
export const transaction = {
  programId: 101,
  eventId: 17,
  siteId: 1101,
  orderNumber: `${ORDER}-reported`,
  orderValue: 1234567.89,
};

/** Values that have to arrive to the last digit. */
export const exact = {
  ...transaction,
  orderNumber: `${ORDER}-exact`,
  orderValue: 12_345_678_901.2345,
  currencyId: 'CLF',
  adId: Number.MAX_SAFE_INTEGER,
  timeOfEvent: '2026-02-20T09:30:00.123Z',
  epi: 'Größe 😀',
};

interface Listed {
  readonly adId?: number;
  readonly orderValue: number;
  readonly timeOfEvent: string;
  readonly epi?: string;
}

/** The same of a transaction that was listed. */
export const exactOf = (one?: Listed) => [
  ...[one?.adId, one?.orderValue, Date.parse(one?.timeOfEvent ?? ''), one?.epi],
];

/** Whether a time is that of the run. */
export const isOfNow = (time: string): boolean => Math.abs(Date.parse(time) - Number(NOW)) < 600_000;

/** The first column names of CSV. */
export const columnsOf = (csv: unknown): string => String(csv).slice(0, 21);
