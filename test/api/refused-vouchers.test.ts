import { TestApp } from '../support/app';
import { missingFrom, VOUCHER_ERRORS, VOUCHER_FIELDS, VOUCHER_TYPES } from './document-tables';
import { DAY, NOW, refusalOf, voucher, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

describe('refused vouchers', () => {
  let app: TestApp;
  const { post, create, list } = voucherClientOf(() => app);

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
  });
  afterAll(() => app.close());

  /** The most bytes of each text, and where that is said. */
  const LIMITS = [
    ['title', 70, 'Document 2, Limits: Voucher title; decisions V4'],
    ['shortDescription', 100, 'Document 2, Limits: Voucher short description; decisions V4'],
    ['description', 65_535, 'Document 2, Limits: Voucher description; decisions V4'],
    ['code', 256, 'Document 2, Limits: Voucher code; decisions V4'],
    ['landingUrl', 2048, 'Document 2, Limits: Landing URL; decisions V4'],
    ['publisherInformation', 65_535, 'decisions X40'],
    ['sourceId', 1000, 'decisions X40'],
  ] as const;

  /** So many bytes of letters of one byte and of two in turns, the last one of a byte. */
  function textOf(field: string, bytes: number): string {
    const start = field === 'landingUrl' ? 'https://a.example/' : '';
    const rest = bytes - start.length;
    return `${start}${'x'.repeat(rest % 3)}${'øx'.repeat(rest / 3)}`;
  }
  const MAX_DATE = NOW + 366 * DAY;

  type Row = readonly [what: string, changes: object, codes: string, description: string];

  const REFUSED: readonly Row[] = [
    ['no title', { title: undefined }, '101', 'title must be set'],
    ['an empty title (decisions V16)', { title: '' }, '101', 'title must be set'],
    ['a title that is no text', { title: 7 }, '101', "title: expected a string, got '7'"],
    ['no programId (decisions V14)', { programId: undefined }, '101', 'programId must be set'],
    ['a programId that is no number', { programId: 'x' }, '101', "programId: expected an integer, got 'x'"],
    ['no voucherTypeId', { voucherTypeId: undefined }, '101', 'voucherTypeId must be set'],
    ['a type 0', { voucherTypeId: 0 }, '101', 'one of 1 (Voucher), 2 (Discount), 3 (Free article)'],
    ['a type 7', { voucherTypeId: 7 }, '101', "got '7'"],
    ['type 1 without a code', { voucherTypeId: 1 }, '101', 'code must be set where voucherTypeId is 1'],
    [
      'type 2 without an amount',
      { voucherTypeId: 2 },
      '101',
      'discountAmount must be set where voucherTypeId is 2',
    ],
    [
      'an amount without isPercentage (decisions V8)',
      { discountAmount: 5 },
      '101',
      'isPercentage must be set where discountAmount is',
    ],
    ['no shortDescription', { shortDescription: undefined }, '101', 'shortDescription must be set'],
    ['no description', { description: undefined }, '101', 'description must be set'],
    ['no startDate', { startDate: undefined }, '101', 'startDate must be set'],
    ['no endDate', { endDate: undefined }, '101', 'endDate must be set'],
    [
      'a date that is none',
      { startDate: 'soon' },
      '101',
      "startDate: expected milliseconds since 1970, got 'soon'",
    ],
    ['a date in ISO 8601', { endDate: '2026-03-02' }, '101', 'endDate: expected milliseconds since 1970'],
    [
      'a date beyond all calendars',
      { publishStartDate: 9e15 },
      '101',
      'publishStartDate: expected milliseconds',
    ],
    ['an end at the start (decisions V16)', { endDate: NOW }, '101', 'expected a time after startDate'],
    [
      'a publication that ends before it starts (decisions V16)',
      { publishStartDate: NOW, publishEndDate: NOW - 1 },
      '101',
      'publishEndDate is',
    ],
    [
      'a publication that ends as it starts (decisions V16)',
      { publishStartDate: NOW, publishEndDate: NOW },
      '101',
      `publishEndDate is ${NOW}: expected a time after publishStartDate`,
    ],
    [
      'an end a millisecond too late (Document 2, Limits: endDate)',
      { endDate: MAX_DATE + 1 },
      '101',
      `expected ${MAX_DATE}`,
    ],
    ['sites that are no list', { siteIds: 1101 }, '101', 'siteIds: expected a list of at most 1000 integers'],
    ['a site that is no number', { siteIds: [1101, 'x'] }, '101', 'siteIds: expected'],
    [
      'more than 1,000 sites (decisions X40)',
      { siteIds: Array.from({ length: 1001 }, (_, at) => at) },
      '101',
      'siteIds: expected',
    ],
    [
      'a landing URL that is none (decisions X44)',
      { landingUrl: 'nord.example' },
      '101',
      'landingUrl: expected',
    ],
    ['a landing URL of a script (decisions X44)', { landingUrl: 'javascript:alert(1)' }, '101', 'landingUrl'],
    [
      'a negative amount (decisions X44)',
      { discountAmount: -1, isPercentage: true },
      '101',
      'discountAmount: expected',
    ],
    [
      'an amount with a comma (decisions X44)',
      { discountAmount: '1,5', isPercentage: true },
      '101',
      "got '1,5'",
    ],
    [
      'a boolean that is none',
      { isPercentage: 'yes' },
      '101',
      "isPercentage: expected true or false, got 'yes'",
    ],
    ['a language that is none (decisions X44)', { languageId: 'xx' }, '101', 'an ISO 639-1 code such as de'],
    ['a character that XML forbids (decisions X44)', { title: 'a\u0001' }, '101', 'the character U+0001'],
    ...LIMITS.map(
      ([field, most, row]) =>
        [
          `a ${field} of ${most + 1} bytes (${row})`,
          { [field]: textOf(field, most + 1) },
          '101',
          `${field} has ${most + 1} bytes: expected at most ${most}`,
        ] as const,
    ),
    [
      'a program of another advertiser',
      { programId: 201 },
      '102',
      'programId is 201: expected a program of yours',
    ],
    ['an unknown program', { programId: 999 }, '102', 'programId is 999: expected a program of yours'],
    [
      'a program that is paused (decisions V18)',
      { programId: 104 },
      '102',
      'program 104 is paused: vouchers are taken while it is active',
    ],
    [
      'sites that are not connected (decisions V5)',
      { siteIds: [1101, 1201, 9999] },
      '103',
      'siteIds: not connected to program 101: 1201, 9999',
    ],
    [
      'several things at once',
      { title: undefined, programId: 999 },
      '101 102',
      'title must be set; programId',
    ],
  ];

  describe('A post is refused (Document 2, Errors, and Voucher posted by an advertiser)', () => {
    it.each(REFUSED)('with %s', async (_, changes, codes, says) => {
      const head = await app.engines.log.head();
      const refused = refusalOf(await post(voucher(changes)));
      expect(refused).toEqual({ codes: `400 ${codes}`, message: expect.stringContaining(says) });
      expect(await app.engines.log.head()).toBe(head);
    });
  });

  const TAKEN: readonly (readonly [what: string, changes: object])[] = [
    ...LIMITS.map(
      ([field, most, row]) =>
        [`a ${field} of ${most} bytes (${row})`, { [field]: textOf(field, most) }] as const,
    ),
    ['an end as late as may be (Document 2, Limits: endDate; decisions V16)', { endDate: MAX_DATE }],
    [
      'a validity and a publication of a millisecond (decisions V16)',
      { endDate: NOW + 1, publishStartDate: NOW, publishEndDate: NOW + 1 },
    ],
    ['dates as strings of digits', { startDate: String(NOW), endDate: String(NOW + DAY) }],
    [
      'numbers as strings of digits (decisions A11)',
      { programId: '101', voucherTypeId: '3', siteIds: ['1101'] },
    ],
    ['booleans as strings (decisions V8)', { discountAmount: '12.5', isPercentage: 'TRUE' }],
    ['a language in capitals (decisions X44)', { languageId: 'DE' }],
    ['empty strings and no sites (decisions V16)', { code: '', landingUrl: '', siteIds: [], languageId: '' }],
    ['fields that nobody knows', { color: 'red' }],
    ['one side of the publication window only (decisions V16)', { publishEndDate: NOW + DAY }],
  ];

  const TYPES: readonly (readonly [voucherTypeId: number, needs: object])[] = [
    [1, { code: 'A' }],
    [2, { discountAmount: 0.5, isPercentage: false }],
    [3, {}],
    [4, {}],
    [5, {}],
    [6, {}],
  ];

  describe('A post is accepted', () => {
    it.each(TAKEN)('with %s', async (_, changes) => {
      expect(await create(changes)).toBeGreaterThan(0);
    });

    it.each(TYPES)(
      'of type %i with its required fields (Document 2, Voucher types)',
      async (voucherTypeId, needs) => {
        const id = await create({ voucherTypeId, ...needs });
        expect(await list(`;id=${id};voucherTypeId=${voucherTypeId}`)).toHaveLength(1);
      },
    );
  });

  describe('This file', () => {
    it('has each type, and each code of voucher creation (Document 2, Voucher types; Errors)', () => {
      expect(
        missingFrom(
          VOUCHER_TYPES,
          TYPES.map(([id]) => id),
        ),
      ).toEqual([]);
      const codes = REFUSED.flatMap(([, , told]) => told.split(' ')).map((code) => `${code} 400`);
      expect(missingFrom(VOUCHER_ERRORS, codes)).toEqual([]);
    });

    it('has a refusal for each field that may be posted (Document 2, Voucher posted by an advertiser)', () => {
      const refused = REFUSED.flatMap(([, changes]) => Object.keys(changes));
      expect(missingFrom(VOUCHER_FIELDS, refused)).toEqual([]);
    });
  });
});
