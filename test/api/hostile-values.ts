const NUMBERS = [1e300, -1e300, 1e21, -1, 0.001, -0, 9007199254740993, 1.5];
const NUMBERS_AS_TEXT = [
  '-1',
  '1e5',
  '0x10',
  ' 1',
  '١',
  '＋1',
  'NaN',
  '9'.repeat(40),
  '1.005',
  '-0',
  '+1',
  '1,5',
];
const CHARACTERS = ['\u0000', 'a\u0001b', '\ud800', '\uffff'];
const CODE = ['__proto__', 'constructor', '<b>', '${x}', "' or 1=1 --", '%00'];
const DATES = [
  '0000-00-00',
  '9999-12-31',
  '2026-02-30',
  '2026-02-20 ',
  '-2026-02-20',
  '2026-02-20T00:00:00Z',
];
const TIMES = ['275760-09-13T00:00:00.001Z', '-271821-04-20T00:00:00Z', '2026-02-30T00:00:00Z'];

/**
 * Values of no type that a posted field has, or beyond its bounds; `longest` is the length of a text that is too long
 * for any.
 */
export function hostileValues({ longest }: { readonly longest: number }): readonly unknown[] {
  return [
    ...[{}, [], [1], { a: 1 }, { toString: 1 }, [[]], true],
    ...NUMBERS,
    ...CHARACTERS,
    'x'.repeat(longest),
    ...NUMBERS_AS_TEXT,
    ...CODE,
    ...DATES,
    ...TIMES,
    ...[1.7e12, 8.64e15, -8.64e15],
  ];
}

/** Names of fields that there are not, and what `X-Ignored-Fields` has of each: 40 characters, percent-encoded. */
export const HOSTILE_NAMES = [
  ['\ud800x', '%EF%BF%BDx'],
  ['x\udc00y', 'x%EF%BF%BDy'],
  ['x\ud800', 'x%EF%BF%BD'],
  ['😀', '%F0%9F%98%80'],
  [`${'x'.repeat(39)}😀`, 'x'.repeat(39)],
  ['x\r\nSet-Cookie: a=b', 'x%0D%0ASet-Cookie%3A%20a%3Db'],
  ['\u0000', '%00'],
  ['a, b', 'a%2C%20b'],
  ['__proto__', '__proto__'],
] as const;
