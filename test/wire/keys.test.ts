import fc from 'fast-check';
import { Fault } from '../../src/kernel/fault';
import { readDate } from '../../src/wire/date';
import {
  BOOLEAN,
  CURRENCY,
  DATE,
  INTEGER,
  type KeyFaults,
  type KeyTable,
  type KeyType,
  LANGUAGE,
  NUMBER,
  oneOf,
  readKeys,
  TEXT,
} from '../../src/wire/keys/keys';
import { parseRequestTarget } from '../../src/wire/keys/request-target';

const named =
  (code: string) =>
  (message = '') =>
    new Fault(code, 400, message);
const faults: KeyFaults = {
  missing: named('missing'),
  notNumeric: named('notNumeric'),
  notDate: named('notDate'),
  notCommaSeparated: named('notCommaSeparated'),
  notCurrency: named('notCurrency'),
  unusable: named('unusable'),
};

const FORMAT: KeyType<string> = {
  expected: 'xml, or anything',
  problem: 'unusable',
  read: (text) => (text === 'xml' ? 'xml' : 'json'),
  takesAll: true,
};

const table = {
  fid: { type: INTEGER, multiple: true },
  page: { type: INTEGER },
  price: { type: NUMBER },
  q: { type: TEXT, multiple: true },
  field: { type: TEXT },
  format: { type: FORMAT },
  grouped: { type: BOOLEAN },
  since: { type: DATE },
  currency: { type: CURRENCY },
  language: { type: LANGUAGE },
  orderBy: { type: oneOf('priceAsc', 'priceDesc') },
  brand: { type: TEXT, multiple: true, aliases: ['brands'] },
} as const satisfies KeyTable;

const read = (keys: string) => readKeys(table, parseRequestTarget(`/1.0/products;${keys}`), faults);

describe('keys of a request (decisions A2)', () => {
  it('are typed by the table', () => {
    const keys = read('fid=1,2;page=3;price=1.50;grouped=TRUE;orderBy=PRICEASC;currency=eur;language=DE');
    const {
      fid,
      page,
      price,
    }: { fid: readonly number[]; page: number | undefined; price: number | undefined } = keys;
    expect([fid, page, price, keys.grouped]).toEqual([[1, 2], 3, 1.5, true]);
    expect([keys.orderBy, keys.currency, keys.language]).toEqual(['priceAsc', 'EUR', 'de']);
  });

  it('are absent when they are not there, unknown or empty', () => {
    const keys = read('fid=;page=;unknown=1;q=,,');
    expect([keys.fid, keys.page, keys.q, keys.field]).toEqual([[], undefined, [], undefined]);
  });

  it.each([
    ['q=a,b;q=c', ['a', 'b', 'c']],
    ['q=a%2Cb', ['a', 'b']],
    ['q=a%252Cb,c', ['a,b', 'c']],
    ['q=a%25252Cb,c', ['a%2Cb', 'c']],
    ['q=a%25252525', ['a%2525']],
    ['q=50%25,50%2525,50%252525,%2541', ['50%', '50%', '50%25', '%41']],
    ['q=a+b,c%20d', ['a b', 'c d']],
    ['Q=a', ['a']],
  ])('%s are the values %j', (keys, values) => {
    expect(read(keys).q).toEqual(values);
  });

  it('of a list have an inverse: % and , of a value are escaped before the whole is percent-encoded', () => {
    const value = fc.string({
      unit: fc.constantFrom('%', '2', '5', 'C', 'c', ',', 'a', ' ', '+', ';', 'ä'),
      minLength: 1,
    });
    const escaped = (text: string) =>
      encodeURIComponent(text.replace(/[%,]/g, (sign) => (sign === '%' ? '%25' : '%2C')));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
        const sent = values.map(escaped);
        expect(read(`q=${sent.join(',')}`).q).toEqual(values);
        expect(read(`q=${sent.join('%2C')}`).q).toEqual(values);
        expect(read(`?${sent.map((one) => `q=${one}`).join('&')}`).q).toEqual(values);
      }),
    );
  });

  it('that take one value take it with its commas', () => {
    expect(read('field=a=b,c').field).toBe('a=b,c');
    expect(read('page=1;page=1').page).toBe(1);
    expect(read('grouped=true;grouped=TRUE').grouped).toBe(true);
    expect(read('since=2026-04-17;since=2026-04-17T02:00+02:00').since).toBe(Date.UTC(2026, 3, 17));
  });

  it('may take any text, even one that cannot be decoded', () => {
    expect(read('format=%ff').format).toBe('json');
    expect(read('format=%ff;format=nonsense').format).toBe('json');
    expect(read('format=xml').format).toBe('xml');
    expect(faultOf(() => read('format=xml;format=%ff'))).toBe(
      'unusable: format=%ff: expected one value, also found xml',
    );
  });

  it('have aliases', () => {
    expect(read('brands=a;BRAND=b').brand).toEqual(['a', 'b']);
  });

  it.each([
    ['fid=a', 'notNumeric: fid=a: expected an integer'],
    ['fid=1.5', 'notNumeric: fid=1.5: expected an integer'],
    ['fid=9007199254740993', 'notNumeric: fid=9007199254740993: expected an integer'],
    ['fid=1|2', 'notCommaSeparated: fid=1|2: expected a list separated by commas'],
    ['fid=1%3B2:3 4', 'notCommaSeparated: fid=1;2:3 4: expected a list separated by commas'],
    ['page=1|2', 'notNumeric: page=1|2: expected an integer'],
    ['page=1;page=2', 'unusable: page=2: expected one value, also found 1'],
    ['price=1e3', 'notNumeric: price=1e3: expected a number with a dot as decimal mark'],
    ['price=1,5', 'notNumeric: price=1,5: expected a number with a dot as decimal mark'],
    ['grouped=yes', 'unusable: grouped=yes: expected true or false'],
    ['orderBy=name', 'unusable: orderBy=name: expected one of priceAsc, priceDesc'],
    ['currency=EURO', 'notCurrency: currency=EURO: expected an ISO 4217 code such as EUR'],
    ['language=xx', 'unusable: language=xx: expected an ISO 639-1 code such as de'],
    ['q=%ff', 'unusable: q=%ff: expected a percent-encoded UTF-8 text'],
    [
      'since=2026-04-17T10:00',
      'notDate: since=2026-04-17T10:00: expected milliseconds since 1970, or an ISO 8601 date or date-time with Z or an offset',
    ],
    [
      'since=1763000000',
      'notDate: since=1763000000: expected milliseconds since 1970, of 2001 or later (given in seconds? Multiply by 1000)',
    ],
    [`fid=${'1,'.repeat(1001)}`, 'unusable: fid=…: expected a list of at most 1000'],
  ])('%s is refused: %s', (keys, expected) => {
    expect(faultOf(() => read(keys))).toBe(expected);
  });

  it('that are required are refused when they are missing', () => {
    const required = { fid: { type: INTEGER, required: true } } as const;
    const missed = (target: string) => faultOf(() => readKeys(required, parseRequestTarget(target), faults));
    expect(missed('/1.0/products')).toBe('missing: fid is missing: /1.0/products;fid=…');
    expect(missed('/1.0/products?fid=')).toBe('missing: fid is missing: /1.0/products;fid=…');
  });
});

describe('keys in the query (decisions A3)', () => {
  it.each([
    ['?FID=1,2&fid=3', { fid: [1, 2, 3] }],
    ['?brands=a+b,c%20d%2Ce%252Cf&BRAND=g', { brand: ['a b', 'c d', 'e,f', 'g'] }],
    ['?page=7&unknown=1&grouped=&price=1.50', { page: 7, grouped: undefined, price: 1.5 }],
    ['?since=2026-04-17T02:00+02:00', { since: Date.UTC(2026, 3, 17) }],
    ['fid=1;page=7?fid=2&page=7', { fid: [1, 2], page: 7 }],
  ])('%s means the same as in the path', (keys, expected) => {
    expect(read(keys)).toMatchObject(expected);
  });

  it('are refused as in the path, also when the path has another value', () => {
    expect(faultOf(() => read('?fid=a'))).toBe('notNumeric: fid=a: expected an integer');
    expect(faultOf(() => read('page=1?page=2'))).toBe('unusable: page=2: expected one value, also found 1');
    expect(faultOf(() => read(`fid=1?fid=${'1,'.repeat(1000)}`))).toBe(
      'unusable: fid=…: expected a list of at most 1000',
    );
  });
});

describe('dates in keys (decisions A17, P6)', () => {
  it.each([
    ['1776441420470', 1776441420470],
    ['-1', -1],
    ['0', 0],
    ['978307200000', Date.UTC(2001, 0)],
    ['978307199999', undefined],
    ['1763000000', undefined],
    ['0001763000000', undefined],
    ['1', undefined],
    ['1970-01-02', 86_400_000],
    ['1999-12-31T23:59:59Z', Date.UTC(2000, 0) - 1000],
    ['2026-04-17', Date.UTC(2026, 3, 17)],
    ['2026-04-17T15:57:00.470Z', Date.UTC(2026, 3, 17, 15, 57, 0, 470)],
    ['2026-04-17T15:57:00+02:00', Date.UTC(2026, 3, 17, 13, 57)],
    ['2026-04-17T15:57-0130', Date.UTC(2026, 3, 17, 17, 27)],
    ['2026-04-17T15:57:00.1234567Z', Date.UTC(2026, 3, 17, 15, 57, 0, 123)],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['2026-02-29', undefined],
    ['2026-13-01', undefined],
    ['2026-04-17T24:00:00Z', undefined],
    ['2026-04-17T15:57:00', undefined],
    ['2026-04-17 15:57:00Z', undefined],
    ['99999999999999999', undefined],
    ['8640000000000001', undefined],
    ['yesterday', undefined],
    ['', undefined],
  ])('%s is %p', (text, instant) => {
    expect(readDate(text)).toBe(instant);
  });

  it('may have their + sent as it is, or encoded (decisions A2)', () => {
    const expected = Date.UTC(2026, 3, 17, 13, 57);
    expect(read('since=2026-04-17T15:57:00+02:00').since).toBe(expected);
    expect(read('since=2026-04-17T15%3A57%3A00%2B0200').since).toBe(expected);
  });

  it('are what JavaScript reads them as', () => {
    for (let instant = 0; instant < 4e12; instant += 9_876_543_211) {
      expect(readDate(new Date(instant).toISOString())).toBe(instant);
    }
  });
});

function faultOf(run: () => unknown): string {
  try {
    return `no fault: ${JSON.stringify(run())}`;
  } catch (error) {
    return error instanceof Fault ? `${error.code}: ${error.message}` : String(error);
  }
}
