import { Directory } from '../../../src/network/directory';
import { type ProgramDefinition } from '../../../src/network/events';
import { type ClaimContent } from '../../../src/domain/claims/claim';
import { screen, type ScreeningParts, type OrderTransaction } from '../../../src/domain/claims/screening';
import { type ScreenedStatusId, STATUSES } from '../../../src/domain/claims/statuses';

const AT = '2026-03-01T12:00:00.000Z';
const now = new Date(AT);

const PROGRAM: ProgramDefinition = {
  id: 31,
  organisationId: 3,
  name: 'Fjord Cycles',
  country: 'NO',
  currency: 'NOK',
  logoUrl: null,
  acceptsClaims: true,
  daysToAutoApprove: 30,
  events: [
    { id: 17, name: 'Inquiry', kind: 'sale', pendingDays: 0, inquiry: true },
    { id: 311, name: 'Sale', kind: 'sale', pendingDays: 14, inquiry: false, commission: { percent: 7.5 } },
    { id: 313, name: 'Visit', kind: 'lead', pendingDays: 0, inquiry: false },
  ],
};

/** Publisher 5 has the sites 51, which is connected to program 31, and 52. */
function directoryWith(
  program: Partial<ProgramDefinition> = {},
  more: Parameters<Directory['evolve']>[0][] = [],
): Directory {
  const directory = new Directory();
  const site = (id: number) => ({
    id,
    organisationId: 5,
    name: `s${id}`,
    url: `https://${id}.example/`,
    at: AT,
  });
  const events: typeof more = [
    { type: 'ProgramDefined', data: { ...PROGRAM, ...program, at: AT } },
    { type: 'SiteDefined', data: site(51) },
    { type: 'SiteDefined', data: site(52) },
    { type: 'SiteConnected', data: { siteId: 51, programId: 31, at: AT } },
    ...more,
  ];
  for (const event of events) directory.evolve(event);
  return directory;
}

const SALE: ClaimContent = {
  siteId: 51,
  programId: 31,
  transactionDate: '2026-02-27',
  eventId: 311,
  orderNumber: 'A-1',
  orderValue: 10_000,
};
const INQUIRY: ClaimContent = { ...SALE, eventId: 17, expectedCommission: 500 };

function screened(claim: Partial<ClaimContent>, options: Partial<ScreeningParts> = {}) {
  return screen(
    { publisherId: 5, claim: { ...SALE, ...claim } },
    { directory: directoryWith(), orders: [], now, ...options },
  );
}

const order = (changes: Partial<OrderTransaction> = {}): OrderTransaction => ({
  transactionId: 't',
  programId: 31,
  siteId: 51,
  publisherId: 5,
  standing: 'accepted',
  ...changes,
});
const OTHER_PROGRAM = { programId: 32 };
const OTHER_SITE = { siteId: 52 };
const OTHER_PUBLISHER = { siteId: 61, publisherId: 6 };

type Case = readonly [ScreenedStatusId, string, Partial<ClaimContent>, Partial<ScreeningParts>?];

const removed = { type: 'SiteRemoved', data: { id: 51, at: AT } } as const;
const disconnected = { type: 'SiteDisconnected', data: { siteId: 51, programId: 31, at: AT } } as const;

/** With events that pay this, and the inquiry event, which does not. */
function paying(
  ...commissions: readonly NonNullable<ProgramDefinition['events'][number]['commission']>[]
): Directory {
  const events = commissions.map((commission, at) => ({ ...PROGRAM.events[1]!, id: 400 + at, commission }));
  return directoryWith({ events: [PROGRAM.events[0]!, PROGRAM.events[2]!, ...events] });
}
const TWO = paying({ percent: 7.5 }, { fixed: 900 });

const CASES: readonly Case[] = [
  [100, 'the transactions cannot be read', {}, { orders: 'unavailable' }],
  [101, 'the expected commission is missing for the inquiry event', { eventId: 17 }],
  [102, 'there is no such program', { programId: 99 }],
  [
    103,
    'the program is paused',
    {},
    { directory: directoryWith({}, [{ type: 'ProgramPaused', data: { id: 31, at: AT } }]) },
  ],
  [
    103,
    'the program is closed',
    {},
    { directory: directoryWith({}, [{ type: 'ProgramClosed', data: { id: 31, at: AT } }]) },
  ],
  [104, 'the event has no commission', { eventId: 313 }],
  [104, 'the program pays for nothing', INQUIRY, { directory: paying() }],
  [
    104,
    'the program pays nothing for everything',
    INQUIRY,
    { directory: paying({ percent: 0 }, { fixed: 0 }) },
  ],
  [105, 'the whole order value is expected', { ...INQUIRY, expectedCommission: 10_000 }],
  [105, 'more is expected than 101 % of 7.5 %', { ...INQUIRY, expectedCommission: 758 }],
  [
    105,
    'more is expected than 101 % of the best',
    { ...INQUIRY, expectedCommission: 910 },
    { directory: TWO },
  ],
  [105, 'nothing is ordered, and something expected', { ...INQUIRY, orderValue: 0, expectedCommission: 1 }],
  [106, 'the order is approved or paid for this site', {}, { orders: [order()] }],
  [107, 'the order is tracked for this site and open', {}, { orders: [order({ standing: 'pending' })] }],
  [108, 'the order was not accepted for this site', {}, { orders: [order({ standing: 'refused' })] }],
  [
    109,
    'the order is approved or paid for another site of the publisher',
    {},
    { orders: [order(OTHER_SITE)] },
  ],
  [
    110,
    'the order is open for another site of the publisher',
    {},
    { orders: [order({ ...OTHER_SITE, standing: 'pending' })] },
  ],
  [111, 'the order is approved or paid for another publisher', {}, { orders: [order(OTHER_PUBLISHER)] }],
  [
    111,
    'the order is open for another publisher',
    {},
    { orders: [order({ ...OTHER_PUBLISHER, standing: 'pending' })] },
  ],
  [112, 'the site was removed', {}, { directory: directoryWith({}, [removed]) }],
  [113, 'the site is not connected to the program', {}, { directory: directoryWith({}, [disconnected]) }],
  [114, 'the advertiser does not accept claims', {}, { directory: directoryWith({ acceptsClaims: false }) }],
  [115, 'the transaction date is tomorrow', { transactionDate: '2026-03-02' }],
  [116, 'the program does not have the event', { eventId: 999 }],
  [2, 'nothing is wrong', {}],
  [2, 'nothing is wrong with a claim of today', { transactionDate: '2026-03-01' }],
  [2, 'nothing is wrong with one for the inquiry event', INQUIRY],
  [2, '101 % of 7.5 % is expected', { ...INQUIRY, expectedCommission: 757 }],
  [2, '101 % of a fixed commission is expected', { ...INQUIRY, expectedCommission: 909 }, { directory: TWO }],
  [
    2,
    'the best of the commissions is a percentage',
    { ...INQUIRY, orderValue: 20_000, expectedCommission: 1500 },
    { directory: TWO },
  ],
  [2, 'the commission is rounded up', { ...INQUIRY, orderValue: 7, expectedCommission: 1 }],
  [
    2,
    'the order was not accepted for another site',
    {},
    { orders: [order({ ...OTHER_SITE, standing: 'refused' })] },
  ],
  [2, 'another program has such an order', {}, { orders: [order(OTHER_PROGRAM)] }],
  [
    2,
    'the order was not accepted for another publisher',
    {},
    { orders: [order({ ...OTHER_PUBLISHER, standing: 'refused' })] },
  ],
];

describe('screening', () => {
  it.each(CASES.map(([statusId, why, claim, options]) => ({ statusId, why, claim, options })))(
    'has the outcome $statusId if $why (Document 3, States and transitions: $statusId; decisions C5)',
    ({ statusId, claim, options }) => {
      expect(screened(claim, options).statusId).toBe(statusId);
    },
  );

  it.each(
    Object.keys(STATUSES)
      .map(Number)
      .filter((id) => id >= 100 && id < 200),
  )(
    'has the outcome %i in at least one of these cases (Document 3, States and transitions; decisions C5)',
    (id) => {
      expect(CASES.some(([statusId]) => statusId === id)).toBe(true);
    },
  );

  it('explains 111 (Document 3, States and transitions: 111; decisions C5)', () => {
    expect(screened({}, { orders: [order(OTHER_PUBLISHER)] })).toEqual({
      statusId: 111,
      message: 'Tracked for another publisher',
    });
  });

  it('finds the first row that applies: each has precedence over those after it (decisions C5)', () => {
    // Each step mends what the one before has found.
    const broken = directoryWith({ acceptsClaims: false, events: [{ ...PROGRAM.events[2]!, id: 17 }] }, [
      { type: 'ProgramPaused', data: { id: 31, at: AT } },
      removed,
    ]);
    const activated = (...more: Parameters<Directory['evolve']>[0][]) =>
      directoryWith({ acceptsClaims: false }, more);
    const claim = { ...INQUIRY, expectedCommission: 10_001, transactionDate: '2026-03-02', eventId: 999 };
    const steps: readonly (readonly [ScreenedStatusId, Partial<ClaimContent>, Directory])[] = [
      [102, { ...claim, programId: 99 }, broken],
      [103, claim, broken],
      [114, claim, activated(removed)],
      [112, claim, directoryWith({}, [removed])],
      [113, claim, directoryWith({}, [disconnected])],
      [115, claim, directoryWith()],
      [116, { ...claim, transactionDate: '2026-03-01' }, directoryWith()],
      [104, { ...claim, transactionDate: '2026-03-01', eventId: 313 }, directoryWith()],
      [105, { ...claim, transactionDate: '2026-03-01', eventId: 17 }, directoryWith()],
    ];
    for (const [statusId, posted, directory] of steps)
      expect(screened(posted, { directory, orders: 'unavailable' }).statusId).toBe(statusId);
    const missing = { eventId: 17, transactionDate: '2026-03-02' };
    expect(screened(missing, { directory: activated(removed) }).statusId).toBe(101);
  });

  it('finds the first of 106, 107, 109, 110, 111, 108 among several transactions (decisions C5)', () => {
    const orders = [
      order({ standing: 'refused' }),
      order(OTHER_PUBLISHER),
      order({ ...OTHER_SITE, standing: 'pending' }),
      order(OTHER_SITE),
      order({ standing: 'pending' }),
      order(),
    ];
    const outcomes = orders.map((_, at) => screened({}, { orders: orders.slice(0, at + 1) }).statusId);
    expect(outcomes).toEqual([108, 111, 110, 109, 107, 106]);
  });

  it('counts the days to automatic approval from now, as the program is defined now (decisions C11)', () => {
    expect(screened({})).toEqual({ statusId: 2, autoApproveAt: '2026-03-31T12:00:00.000Z' });
    const never = directoryWith({ daysToAutoApprove: null });
    expect(screened({}, { directory: never })).toEqual({ statusId: 2 });
    const atOnce = directoryWith({ daysToAutoApprove: 0 });
    expect(screened({}, { directory: atOnce })).toEqual({ statusId: 2, autoApproveAt: AT });
  });
});
