import { type Field } from '../../../src/wire/record/record';
import {
  ignoredIn,
  postedClaim,
  type PostedFormat,
  type PostedList,
  readPosted,
} from '../../../src/services/claims/claims-body';
import { checkClaims } from '../../../src/services/claims/claim-check';
import { POSTED_CLAIM } from '../../api/claim-tables';
import { small } from '../../network/small-directory';
import { claim, refusalOf } from './posted';

const directory = small();
const caller = { organisationId: 5 };
const posted = (...items: readonly unknown[]): PostedList =>
  readPosted('claims', Buffer.from(JSON.stringify({ claims: items })), 'json');
const check = (...items: readonly unknown[]) => checkClaims(posted(...items), { directory, caller });
const refused = (...items: readonly unknown[]) => refusalOf(() => check(...items));

const FULL = {
  epi: 'spring',
  epi2: 'two',
  trackingUrl: 'https://clk.example/click?a=52',
  productName: 'Lamp',
  proofOfClaims: 'https://proof.example/1.png',
  advertiserInformation: 'Ordered by phone',
};

describe('posted claims', () => {
  it('have the fields of the document (Document 3, Claim posted by a publisher)', () => {
    const fields = Object.entries<Field>(postedClaim.fields);
    const names = (isRequired: boolean) =>
      fields.filter(([, { required }]) => (required === true) === isRequired).map(([name]) => name);
    expect(names(true).sort()).toEqual(POSTED_CLAIM.required.toSorted());
    expect(names(false).sort()).toEqual(POSTED_CLAIM.optional.toSorted());
  });

  it('are read to contents, amounts to integers, with their currency', () => {
    const { affiliateSiteId, timeStampEvent, ...others } = claim(FULL);
    expect([affiliateSiteId, timeStampEvent]).toEqual([52, '2026-01-04']);
    const amounts = { orderValue: 10_000, expectedCommission: 750 };
    expect(check(claim(FULL))).toEqual([
      { claim: { ...others, siteId: 52, transactionDate: '2026-01-04', ...amounts }, currencyId: 'NOK' },
    ]);
  });

  it('have values as strings or numbers (decisions C2)', () => {
    const strings = Object.fromEntries(
      Object.entries(claim({ orderNumber: 7 })).map(([name, value]) => [name, String(value)]),
    );
    expect(check(strings)).toEqual(check(claim({ orderNumber: 7 })));
  });

  it.each(POSTED_CLAIM.required)('need %s: UTS_240 in JSON (Document 3, Errors: UTS_240)', (name) => {
    for (const value of [undefined, null, ''])
      expect(refused(claim(), claim({ orderNumber: 'A-2', [name]: value }))).toEqual({
        status: 400,
        faults: [`UTS_240 claims[1].${name} must be set`],
      });
  });

  it.each<[PostedFormat, string]>([
    ['xml', '<claims><claim/></claims>'],
    ['csv', 'programId,epi\n,x\n'],
  ])('in %s miss them by UTS_200 (Document 3, Errors: UTS_200)', (format, body) => {
    const list = readPosted('claims', Buffer.from(body), format);
    const { faults } = refusalOf(() => checkClaims(list, { directory, caller }));
    expect(faults.toSorted()).toEqual(
      POSTED_CLAIM.required.map((name) => `UTS_200 claims[0].${name} must be set`).toSorted(),
    );
  });

  it.each<[field: string, value: unknown, fault: string]>([
    ['affiliateSiteId', 'x', "UTS_260 claims[0].affiliateSiteId: expected an integer, got 'x'"],
    ['programId', 3.5, "UTS_260 claims[0].programId: expected an integer, got '3.5'"],
    ['eventId', {}, "UTS_260 claims[0].eventId: expected an integer, got '{}'"],
    [
      'eventId',
      '9'.repeat(30),
      expect.stringMatching(/^UTS_260 claims\[0\].eventId: expected an integer from/),
    ],
    [
      'orderValue',
      'ten',
      expect.stringMatching(/^UTS_260 claims\[0\].orderValue: expected an amount.* got 'ten'$/),
    ],
    [
      'orderValue',
      '12,50',
      expect.stringMatching(/^UTS_260 .*a dot as decimal mark, such as 12.50.* got '12,50'$/),
    ],
    ['orderValue', true, expect.stringMatching(/^UTS_260 claims\[0\].orderValue: .* got 'true'$/)],
    ['orderValue', -1, expect.stringMatching(/^UTS_430 claims\[0\].orderValue: expected an amount from 0/)],
    ['orderValue', '1.005', expect.stringMatching(/^UTS_430 .*at most two decimals.* got '1.005'$/)],
    ['orderValue', '100000000000.01', expect.stringMatching(/^UTS_430 .*at most 100000000000, got/)],
    ['orderValue', 1e12, expect.stringMatching(/^UTS_430 .*at most 100000000000/)],
    ['expectedCommission', 'x', expect.stringMatching(/^UTS_260 claims\[0\].expectedCommission: /)],
  ])(
    'are UTS_260 for %s %j, or UTS_430 for a number out of range (Document 3, Errors: UTS_260; decisions C2)',
    (field, value, fault) => {
      expect(refused(claim({ [field]: value })).faults).toEqual([fault]);
    },
  );

  it.each([1e11, '100000000000', '100000000000.00'])('may be as large as %j (decisions C2)', (orderValue) => {
    expect(check(claim({ orderValue }))).toMatchObject([{ claim: { orderValue: 1e13 } }]);
  });

  it.each([
    20_260_104,
    '2026-1-4',
    '04.01.2026',
    '2026-02-30',
    '0000-01-01',
    '2026-01-04T00:00:00Z',
    ' 2026-01-04',
    {},
  ])('are UTS_265 for the date %j (Document 3, Errors: UTS_265; decisions C2)', (value) => {
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    expect(refused(claim({ timeStampEvent: value })).faults).toEqual([
      `UTS_265 claims[0].timeStampEvent: expected a date such as 2026-03-31, got '${shown}'`,
    ]);
  });

  it.each([
    ['orderNumber', 240],
    ['epi', 255],
    ['epi2', 255],
    ['productName', 255],
    ['trackingUrl', 2048],
    ['proofOfClaims', 2048],
    ['advertiserInformation', 4000],
  ] as const)(
    'have at most as many characters in %s: %i (Document 3, Limits: Order number length; decisions C2)',
    (field, most) => {
      const ofLength = (length: number) => 'https://a.example/'.padEnd(length, 'ü').slice(0, length);
      expect(check(claim({ [field]: ofLength(most) }))).toHaveLength(1);
      const { faults } = refused(claim({ [field]: ofLength(most + 1) }));
      expect(faults).toEqual([
        expect.stringMatching(`^UTS_430 claims\\[0\\].${field}: expected at most ${most} characters, got '`),
      ]);
    },
  );

  it('count code points, as JSON Schema does (decisions C2)', () => {
    expect(check(claim({ orderNumber: '😀'.repeat(240) }))).toHaveLength(1);
    expect(refused(claim({ orderNumber: '😀'.repeat(241) })).faults).toEqual([
      expect.stringMatching(/^UTS_430 claims\[0\].orderNumber: expected at most 240 characters/),
    ]);
  });

  it.each(['ftp://a.example/', 'a.example', 'https://a b'])(
    'are UTS_430 for a proof that is no http or https URL: %s (decisions C2)',
    (proofOfClaims) => {
      expect(refused(claim({ proofOfClaims })).faults).toEqual([
        `UTS_430 claims[0].proofOfClaims: expected an absolute http or https URL, got '${proofOfClaims}'`,
      ]);
    },
  );

  it('that are no objects are UTS_211 (Document 3, Errors: UTS_211)', () => {
    expect(refused(claim(), 5, null, []).faults).toEqual([
      "UTS_211 claims[1]: expected an object, got '5'",
      "UTS_211 claims[2]: expected an object, got 'null'",
      "UTS_211 claims[3]: expected an object, got '[]'",
    ]);
  });

  it('are refused with all faults, and the status of the first (decisions C3, C7)', () => {
    const foreign = claim({ affiliateSiteId: 61 });
    const { status, faults } = refused(foreign, claim({ orderNumber: '', timeStampEvent: 'x' }));
    expect([status, faults.map((fault) => fault.slice(0, 31))]).toEqual([
      403,
      [
        'UTS_396 claims[0].affiliateSite',
        'UTS_265 claims[1].timeStampEven',
        'UTS_240 claims[1].orderNumber m',
      ],
    ]);
    expect(refused(claim({ orderNumber: '' }), foreign).status).toBe(400);
  });

  it('list 1,000 faults, then UTS_213 with the number of the others (Document 3, Errors: UTS_213; decisions C7)', () => {
    const { faults } = refused(...Array.from({ length: 200 }, () => ({})));
    expect(faults).toHaveLength(1001);
    expect(faults.at(-1)).toBe(
      'UTS_213 200 more errors: the answer lists the first 1000; correct these and post again',
    );
  });

  it('name a number as it was spelt', () => {
    const body = JSON.stringify({ claims: [claim(), claim({ eventId: 0 })] }).replace(
      '"eventId":0',
      '"eventId":1e400',
    );
    const list = readPosted('claims', Buffer.from(body), 'json');
    const { faults } = refusalOf(() => checkClaims(list, { directory, caller }));
    expect(faults).toEqual([expect.stringMatching(/^UTS_260 claims\[1\].eventId: .*got '1e400'$/)]);
  });
});

describe('access of posted claims', () => {
  it.each([
    [{ organisationId: 5 }, 61, 'a site of yours, such as 51, 52'],
    [{ organisationId: 5 }, 999, 'a site of yours, such as 51, 52'],
    [{ organisationId: 5, siteId: 52 }, 51, '52, the site of the token'],
  ])(
    'is UTS_396 with %j for site %i (Document 3, Errors: UTS_396; decisions C1, C3)',
    (as, affiliateSiteId, expected) => {
      const list = posted(claim({ affiliateSiteId }));
      expect(refusalOf(() => checkClaims(list, { directory, caller: as }))).toEqual({
        status: 403,
        faults: [`UTS_396 claims[0].affiliateSiteId: expected ${expected}, got '${affiliateSiteId}'`],
      });
    },
  );

  it('is UTS_403 if no site of the publisher is connected to the program (Document 3, Errors: UTS_403; decisions C3)', () => {
    expect(refused(claim({ programId: 41, eventId: 1, expectedCommission: undefined }))).toEqual({
      status: 403,
      faults: [
        "UTS_403 claims[0].programId: expected a program that one of your sites is connected to, got '41'",
      ],
    });
  });

  it('suffices if another site of the publisher is connected: screening rejects the claim (decisions C5)', () => {
    expect(check(claim({ affiliateSiteId: 51 }))).toHaveLength(1);
  });

  it('is not refused for a program that does not exist: screening rejects the claim (decisions C5)', () => {
    expect(check(claim({ programId: 999 }))).toHaveLength(1);
  });

  it('remains for a site that was removed: screening rejects the claim (decisions C5)', () => {
    const without = small();
    without.evolve({ type: 'SiteRemoved', data: { id: 52, at: '2026-01-05T09:00:00.000Z' } });
    const list = posted(claim());
    expect(
      refusalOf(() => checkClaims(list, { directory: without, caller: { organisationId: 6 } })).faults,
    ).toEqual([expect.stringMatching(/^UTS_396 /), expect.stringMatching(/^UTS_403 /)]);
    without.evolve({
      type: 'SiteConnected',
      data: { siteId: 51, programId: 31, at: '2026-01-05T09:00:00.000Z' },
    });
    expect(checkClaims(list, { directory: without, caller })).toHaveLength(1);
  });
});

describe('expectedCommission (decisions C6)', () => {
  it('must not be sent for another event than the inquiry event: UTS_430 (Document 3, Errors: UTS_430)', () => {
    expect(refused(claim({ eventId: 311 })).faults).toEqual([
      "UTS_430 claims[0].expectedCommission: expected none, because event 311 is not the inquiry event of program 31, got '7.5'",
    ]);
    expect(check(claim({ eventId: 311, expectedCommission: undefined }))).toHaveLength(1);
  });

  it.each([undefined, null, ''])(
    'is required for the inquiry event: UTS_240, %p is none',
    (expectedCommission) => {
      expect(refused(claim({ expectedCommission })).faults).toEqual([
        'UTS_240 claims[0].expectedCommission must be set: event 17 is the inquiry event of program 31',
      ]);
      expect(check(claim({ programId: 999, expectedCommission }))).toHaveLength(1);
    },
  );

  it('is not refused for an unknown event: screening rejects it', () => {
    expect(check(claim({ eventId: 999 }))).toHaveLength(1);
  });
});

describe('unknown fields of posted claims (decisions A15)', () => {
  it('are named, whatever else is wrong', () => {
    expect(ignoredIn(posted({ colour: 1 }, 5, claim({ statusId: 2 })), postedClaim)).toEqual({
      'X-Ignored-Fields': 'colour, statusId',
    });
    const xml = '<claims><claim id="1"><colour/><epi>e</epi></claim></claims>';
    const list = readPosted('claims', Buffer.from(xml), 'xml');
    expect(ignoredIn(list, postedClaim)).toEqual({ 'X-Ignored-Fields': '%40id, colour' });
  });
});
