import { TestApp, type TestRequest } from '../support/app';
import { OTHER_TOKENS } from './network';
import { JSON_UTF8, XML_UTF8 } from './posted';
import {
  DAY,
  NOW,
  refusalOf,
  voucher,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  voucherClientOf,
} from './voucher-network';

let app: TestApp;
const { post, create, list } = voucherClientOf(() => app);
const token = VOUCHER_TOKENS.nord;

beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
});
afterAll(() => app.close());

/** Words of two bytes each. */
const ø = (bytes: number) => 'ø'.repeat(bytes / 2);
const MAX_DATE = NOW + 366 * DAY;

type Row = readonly [what: string, changes: object, codes: string, says: string];

const REFUSED: readonly Row[] = [
  ['no title', { title: undefined }, '101', 'title must be set'],
  ['an empty title (decisions V16)', { title: '' }, '101', 'title must be set'],
  ['a title that is no text', { title: 7 }, '101', "title must be a string, not '7'"],
  ['no programId (decisions V14)', { programId: undefined }, '101', 'programId must be set'],
  ['a programId that is no number', { programId: 'x' }, '101', "programId must be a whole number, not 'x'"],
  ['no voucherTypeId', { voucherTypeId: undefined }, '101', 'voucherTypeId must be set'],
  ['a type 0', { voucherTypeId: 0 }, '101', 'one of 1 (Voucher), 2 (Discount), 3 (Free article)'],
  ['a type 7', { voucherTypeId: 7 }, '101', "not '7'"],
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
    "startDate must be milliseconds since 1970, not 'soon'",
  ],
  ['a date in ISO 8601', { endDate: '2026-03-02' }, '101', 'endDate must be milliseconds since 1970'],
  ['a date beyond all calendars', { publishStartDate: 9e15 }, '101', 'publishStartDate must be milliseconds'],
  ['an end at the start (decisions V16)', { endDate: NOW }, '101', `must be later than startDate`],
  [
    'a publication that ends before it starts (decisions V16)',
    { publishStartDate: NOW, publishEndDate: NOW - 1 },
    '101',
    'publishEndDate is',
  ],
  ['an end a day too late (Document 2, Limits)', { endDate: MAX_DATE + 1 }, '101', `accepted is ${MAX_DATE}`],
  [
    'sites that are no list',
    { siteIds: 1101 },
    '101',
    'siteIds must be a list of at most 1000 whole numbers',
  ],
  ['a site that is no number', { siteIds: [1101, 'x'] }, '101', 'siteIds must be'],
  [
    'more than 1,000 sites (decisions X40)',
    { siteIds: Array.from({ length: 1001 }, (_, at) => at) },
    '101',
    'siteIds must be',
  ],
  ['a landing URL that is none (decisions X44)', { landingUrl: 'nord.example' }, '101', 'landingUrl must be'],
  ['a landing URL of a script (decisions X44)', { landingUrl: 'javascript:alert(1)' }, '101', 'landingUrl'],
  [
    'a negative amount (decisions X44)',
    { discountAmount: -1, isPercentage: true },
    '101',
    'discountAmount must',
  ],
  [
    'an amount with a comma (decisions X44)',
    { discountAmount: '1,5', isPercentage: true },
    '101',
    "not '1,5'",
  ],
  ['a boolean that is none', { isPercentage: 'yes' }, '101', "isPercentage must be true or false, not 'yes'"],
  ['a language that is none (decisions X44)', { languageId: 'xx' }, '101', 'an ISO 639-1 code such as de'],
  ['a character that XML forbids (decisions X44)', { title: 'a\u0001' }, '101', 'the character U+0001'],
  [
    'a title of 72 bytes (decisions V4)',
    { title: ø(72) },
    '101',
    'title has 72 bytes: accepted are 70 at most',
  ],
  [
    'a shortDescription of 102 bytes (Document 2, Limits; decisions V4)',
    { shortDescription: ø(102) },
    '101',
    'shortDescription has 102 bytes: accepted are 100 at most',
  ],
  ['a description of 65,536 bytes', { description: ø(65_536) }, '101', 'has 65536 bytes: accepted are 65535'],
  ['a code of 258 bytes', { code: ø(258) }, '101', 'code has 258 bytes: accepted are 256 at most'],
  [
    'a landing URL of 2,049 bytes',
    { landingUrl: `https://a.example/${'a'.repeat(2031)}` },
    '101',
    'landingUrl has 2049 bytes: accepted are 2048 at most',
  ],
  [
    'information of 65,536 bytes (decisions X40)',
    { publisherInformation: ø(65_536) },
    '101',
    'publisherInformation has 65536 bytes',
  ],
  ['a sourceId of 1,002 bytes (decisions X40)', { sourceId: ø(1002) }, '101', 'sourceId has 1002 bytes'],
  [
    'a program of another advertiser',
    { programId: 201 },
    '102',
    'programId is 201: that is no program of yours',
  ],
  ['a program that there is not', { programId: 999 }, '102', 'programId is 999: that is no program of yours'],
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
  ['several things at once', { title: undefined, programId: 999 }, '101 102', 'title must be set; programId'],
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
  ['a title of 70 bytes (Document 2, Limits)', { title: ø(70) }],
  ['a shortDescription of 100 bytes (Document 2, Limits)', { shortDescription: ø(100) }],
  ['a description of 65,535 bytes (Document 2, Limits)', { description: `a${ø(65_534)}` }],
  ['a code of 256 bytes (Document 2, Limits)', { voucherTypeId: 1, code: ø(256) }],
  [
    'a landing URL of 2,048 bytes (Document 2, Limits)',
    { landingUrl: `https://a.example/${'a'.repeat(2030)}` },
  ],
  ['a sourceId of 1,000 bytes (decisions X40)', { sourceId: ø(1000) }],
  ['an end as late as may be (Document 2, Limits; decisions V16)', { endDate: MAX_DATE }],
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

describe('A post is taken', () => {
  it.each(TAKEN)('with %s', async (_, changes) => {
    expect(await create(changes)).toBeGreaterThan(0);
  });

  it.each([
    [1, { code: 'A' }],
    [2, { discountAmount: 0.5, isPercentage: false }],
    [3, {}],
    [4, {}],
    [5, {}],
    [6, {}],
  ])('of type %i with what it needs (Document 2, Voucher types)', async (voucherTypeId, needs) => {
    const id = await create({ voucherTypeId, ...needs });
    expect(await list(`;id=${id};voucherTypeId=${voucherTypeId}`)).toHaveLength(1);
  });
});

const BODY = JSON.stringify(voucher());
const OWN = '/1.0/vouchers';
const xml = (body: string): TestRequest => ({ token, headers: XML_UTF8, body });

const REQUESTS: readonly (readonly [
  expected: string,
  what: string,
  request: string,
  details?: TestRequest,
])[] = [
  ['400 1', 'without a token (Document 2, Errors)', `GET ${OWN}`],
  ['400 1', 'with an empty token (decisions A4)', `GET ${OWN}?token=`],
  ['403 2', 'with an unknown token (Document 2, Errors)', `GET ${OWN}`, { token: 'd'.repeat(40) }],
  ['403 2', 'with 39 digits for a token (Document 2, Limits)', `GET ${OWN}`, { token: token.slice(1) }],
  ['403 2', 'with a token for claims (decisions A4)', `GET ${OWN}`, { token: OTHER_TOKENS.claims }],
  ['403 2', 'with the token given twice (decisions A4)', `GET ${OWN}?token=${token}`, { token }],
  ['404 3', 'in another version (Document 2, Versioning)', 'GET /2.0/vouchers', { token }],
  ['404 4', 'in another version of the module (Document 2, Versioning)', `GET ${OWN}/9.9`, { token }],
  ['404 6', 'without a version (Document 2, Versioning)', 'GET /vouchers', { token }],
  ['405 405', 'that is PUT (Document 2, Generic HTTP errors)', `PUT ${OWN}`, { token, body: BODY }],
  ['405 405', 'that gets one voucher', `GET ${OWN}/1`, { token }],
  ['404 404', 'to an unknown path', `GET ${OWN}/1/2/3`, { token }],
  ['406 406', 'that accepts nothing offered', `GET ${OWN}`, { token, headers: { accept: 'text/html' } }],
  ['415 415', 'that posts a form', `POST ${OWN}`, form('application/x-www-form-urlencoded')],
  ['415 415', 'in another charset (decisions A10)', `POST ${OWN}`, form('application/json; charset=latin1')],
  ['400 101', 'without a charset (decisions A10)', `POST ${OWN}`, form('application/json')],
  ['415 415', 'that posts a list in XML (decisions X46)', `POST ${OWN}/bulk`, xml('<voucher/>')],
  ['400 101', 'that is no JSON', `POST ${OWN}`, { token, body: '{' }],
  ['400 101', 'that is no UTF-8', `POST ${OWN}`, { token, body: Buffer.from([0x22, 0xff, 0x22]) }],
  ['400 101', 'that is no object', `POST ${OWN}`, { token, body: '[]' }],
  ['400 101', 'that is nested too deep (decisions X40)', `POST ${OWN}`, { token, body: '['.repeat(40) }],
  ['400 101', 'that is no XML', `POST ${OWN}`, xml('<voucher>')],
  ['400 101', 'with another root element', `POST ${OWN}`, xml('<vouchers/>')],
  [
    '400 101',
    'with elements in a text (decisions X24)',
    `POST ${OWN}`,
    xml('<voucher><title><b/></title></voucher>'),
  ],
  [
    '413 413',
    'of more than 1 MB (decisions X40)',
    `POST ${OWN}`,
    { token, body: ' '.repeat(1024 * 1024 + 1) },
  ],
  ['400 101', 'in bulk that is no list (decisions V17)', `POST ${OWN}/bulk`, { token, body: '{}' }],
  [
    '400 101',
    'in bulk of 1,001 (decisions V17)',
    `POST ${OWN}/bulk`,
    { token, body: JSON.stringify(Array(1001).fill({})) },
  ],
  ['400 102', 'of a publisher that posts (decisions V14)', `POST ${OWN}`, as('preisblick')],
  ['400 102', 'of a publisher that posts in bulk (decisions V18)', `POST ${OWN}/bulk`, as('preisblick')],
  ['400 101', 'with a page below 0', `GET ${OWN};page=-1`, { token }],
  ['400 101', 'with a page size below 1 (decisions V16)', `GET ${OWN};pageSize=0`, { token }],
  ['400 101', 'with an id that is no number (decisions V14)', `GET ${OWN};id=a`, { token }],
  ['400 101', 'with a date that is none (Document 2, List keys)', `GET ${OWN};minEndDate=soon`, { token }],
  ['400 101', 'with a date format that is none', `GET ${OWN};dateOutputFormat=rfc`, { token }],
  ['400 101', 'with a boolean that is none', `GET ${OWN};siteSpecific=1`, { token }],
  ['400 101', 'with a language that is none', `GET ${OWN};languageId=xx`, { token }],
  ['400 101', 'with a seed that is no number', `GET ${OWN};random=x`, { token }],
  ['400 101', 'with a format that is none', `GET ${OWN};format=pdf`, { token }],
  [
    '400 101',
    'with activeAt beside other bounds (decisions V18)',
    `GET ${OWN};activeAt=${NOW};minEndDate=${NOW}`,
    { token },
  ],
  ['400 101', 'for so random a page (decisions X41)', `GET ${OWN};random=1;page=10`, { token }],
  ['400 101', 'with jsonp for XML (decisions P27)', `GET ${OWN}.xml?jsonp=f`, { token }],
];

const NAMED = REQUESTS.map(([expected, what, request, details = {}]) => ({
  expected,
  what,
  request,
  details,
}));

describe('A request is refused', () => {
  it.each(NAMED)('$expected $what', async ({ expected, request, details }) => {
    const [method, target] = request.split(' ') as ['GET', string];
    const answer = await app.request(method, target, { headers: JSON_UTF8, ...details });
    if (answer.headers['content-type'] === 'application/xml; charset=utf-8') {
      const code = /<code>(\d+)<\/code>/.exec(answer.body)?.[1] ?? '';
      expect(`${answer.statusCode} ${code}`).toBe(expected);
    } else expect(refusalOf(answer).codes).toBe(expected);
  });
});

function form(contentType: string): TestRequest {
  return { token, headers: { 'content-type': contentType }, body: BODY };
}

function as(client: keyof typeof VOUCHER_TOKENS): TestRequest {
  return { token: VOUCHER_TOKENS[client], body: BODY };
}

it('a refusal in XML is told in XML (decisions A1)', async () => {
  const answer = await app.post('/1.0/vouchers', xml('<voucher/>'));
  expect(answer.body).toContain(
    '<Response xmlns="https://api.example/1.0/vouchers"><errors><e><code>101</code><message>title must be set</message></e>',
  );
});
