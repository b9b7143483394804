/** What all clients claim, and how they list it. */
const { NOW, ORDER } = process.env;

const day = new Date(Number(NOW) - 86_400_000).toISOString().slice(0, 10);

/** One is filed alone, the others together. */
export const orders = ['approved', 'rejected', 'deleted'].map((name) => `${ORDER}-${name}`);

export const claimOf = (orderNumber: string, orderValue = 100) => ({
  affiliateSiteId: 1101,
  programId: 101,
  timeStampEvent: day,
  eventId: 17,
  orderNumber,
  orderValue,
  expectedCommission: 4.5,
});

/** One that awaits approval, and one whose status is 105. */
export const toCheck = () => [claimOf('unfiled'), { ...claimOf('mismatched'), expectedCommission: 100 }];

/** The claims that were filed last. */
export const search = {
  statusId: [2, 100],
  programId: [101],
  minTransactionDate: day,
  sortBy: 'claimId' as const,
  sortOrder: 'desc' as const,
  limit: 3,
};

export const rulings = (approved: number, rejected: number) => [
  { claimId: approved, versionNo: 1, statusIdClaim: 3, orderValue: 75, expectedCommission: 5 },
  { claimId: rejected, versionNo: 0, statusIdClaim: 201, statusMessageClaim: 'Search' },
];

export const subscription = {
  filter: { statusIds: [3, 201] },
  receivers: [
    {
      httpMethod: 'POST' as const,
      receiverUrl: 'https://shop.example/claims',
      receiverBody: '{"claim": ${claimId}}',
      receiverFormat: 'JSON',
    },
  ],
};
