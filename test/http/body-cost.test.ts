import { parsedCost } from '../../src/http/posted-body';

type Format = 'json' | 'xml' | 'csv';

const costOf = (text: string, format: Format = 'json'): number =>
  parsedCost(format)(Buffer.byteLength(text), Buffer.from(text)).memory;

it.each<[string, Format, string, number]>([
  ['plain text', 'json', 'abcdefgh', 16],
  ['JSON of empty objects', 'json', '{},', 64],
  ['JSON of empty lists', 'json', '[],', 48],
  ['JSON of members of any name', 'json', '{"k1":1},', 200],
  ['JSON of short texts', 'json', '"é1",', 40],
  ['XML of empty elements', 'xml', '<a/>', 100],
  ['XML of attributes', 'xml', '<a b=""/>', 200],
  ['CSV of one column', 'csv', '1\n', 237],
  ['CSV', 'csv', '1;2\n', 237],
  ['CSV with tabs', 'csv', 'abcd\t1234\txyz9\n', 317],
  ['CSV of many columns', 'csv', `${'ab,'.repeat(900)}\n`, 32_935],
])('%s counts at least with what it takes in memory (decisions X100)', (_, format, part, inMemory) => {
  const cost = costOf(part.repeat(10_000), format);
  expect(cost).toBeGreaterThanOrEqual(10_000 * inMemory);
  expect(cost).toBeLessThan(10_000 * 4 * inMemory);
});

const MARKS = "a,b:c;'[{]}";
const MAX_LIST = 32 * 1024 ** 2;
/** What a part of a list costs is the same part of what the whole list costs. */
const PART = 1 / 8;
it.each<[Format, text: string, values: string]>([
  ['json', `{"reportInfo":"${`${MARKS}\\"\\\\<`.repeat(10_000)}"},`, '[{}],"",'],
  ['xml', `<a>${`${MARKS}"&lt;`.repeat(10_000)}</a>`, '<a/><a b=""/>'],
  ['xml', `<a b="${`${MARKS}&lt;`.repeat(10_000)}"/>`, '<a></a>'],
  ['xml', `<a><![CDATA[${`${MARKS}"<b c="">`.repeat(10_000)}]]></a>`, '<![CDATA[]]><a/>'],
  ['csv', `"${`${MARKS}""\t\n`.repeat(10_000)}";x\n`, '1;2\n'],
])(
  'the longest list in %s counts little more than its bytes if its texts are full of marks, but not if these are values (decisions X100)',
  (format, text, values) => {
    const list = (part: string): string => part.repeat((PART * MAX_LIST) / part.length);
    // Less than one token may have of the least `BODY_MEMORY`.
    expect(costOf(list(text), format)).toBeLessThan(PART * 70 * 1024 ** 2);
    // More than a large body may have.
    expect(costOf(list(values), format)).toBeGreaterThan(PART * (256 + 32) * 1024 ** 2);
  },
);

it('the longest list of short transactions takes an eighth of what one token has (decisions X100)', () => {
  const item = {
    programId: 101,
    eventId: 1011,
    siteId: 1101,
    orderNumber: 'A-1',
    orderValue: 129.9,
    epi: 'x',
  };
  const text = JSON.stringify(Array(10_000).fill(item));
  expect(costOf(text)).toBeLessThan((128 * 1024 ** 2) / 8);
  expect(costOf(JSON.stringify([{ ...item, reportInfo: 'f1=1&f2=2|'.repeat(6_000) }]))).toBeLessThan(130_000);
});

it('counts chunks as they come, and the declared length from the start (decisions X100)', () => {
  const cost = parsedCost('json');
  expect(cost(100_000)).toEqual({ memory: 200_000, space: 0 });
  expect(cost(100_000, Buffer.from('{},'.repeat(1_000))).memory).toBe(200_000 + 128_000);
  expect(cost(100_000, Buffer.from('{},'.repeat(1_000))).memory).toBe(200_000 + 256_000);
  expect(parsedCost()(1).memory).toBe(64 * 1024);
});
