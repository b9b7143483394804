import { parsedCost } from '../../src/http/body-cost';

const costOf = (text: string): number => parsedCost()(Buffer.byteLength(text), Buffer.from(text)).memory;

it.each([
  ['plain text', 'abcdefgh', 16],
  ['JSON of empty objects', '{},', 64],
  ['JSON of empty lists', '[],', 48],
  ['JSON of members of any name', '{"k1":1},', 200],
  ['JSON of short texts', '"é1",', 40],
  ['XML of empty elements', '<a/>', 100],
  ['XML of attributes', '<a b=""/>', 200],
  ['CSV', '1;2\n', 64],
])('%s counts at least with what it takes in memory (decisions X100)', (_, part, inMemory) => {
  const cost = costOf(part.repeat(10_000));
  expect(cost).toBeGreaterThanOrEqual(10_000 * inMemory);
  expect(cost).toBeLessThan(10_000 * 4 * inMemory);
});

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
  const cost = parsedCost();
  expect(cost(100_000)).toEqual({ memory: 200_000, space: 0 });
  expect(cost(100_000, Buffer.from('{},'.repeat(1_000))).memory).toBe(200_000 + 128_000);
  expect(cost(100_000, Buffer.from('{},'.repeat(1_000))).memory).toBe(200_000 + 256_000);
  expect(parsedCost()(1).memory).toBe(64 * 1024);
});
