import fc from 'fast-check';
import { DAY } from './voucher-network';

/** Publishers of the histories, by the names of their tokens. */
export const PUBLISHERS = { preisblickAll: 11, deals: 12 } as const;
export type Publisher = keyof typeof PUBLISHERS;

const publishers = fc.constantFrom<Publisher>('preisblickAll', 'preisblickAll', 'deals');
const contents = fc.record({
  affiliateSiteId: fc.constantFrom(1101, 1101, 1101, 1102, 1202, 1201),
  programId: fc.constantFrom(101, 101, 101, 101, 102, 104, 999),
  day: fc.constantFrom(-2, -1, -1, -1, 40),
  eventId: fc.constantFrom(17, 17, 17, 301, 302, 305, 777),
  order: fc.nat(2),
  orderValue: fc.constantFrom(100, 50),
  expectedCommission: fc.constantFrom(undefined, 5, 5, 5, 5, 7.5, 60),
});
export type RandomContent = typeof contents extends fc.Arbitrary<infer One> ? One : never;

const picks = { pick: fc.nat(9), isLatest: fc.nat(5).map((chance) => chance > 0), by: publishers };
const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      by: publishers,
      claims: fc.array(contents, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('revise' as const), ...picks, content: contents }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('rule' as const),
      ...picks,
      statusId: fc.constantFrom(3, 3, 3, 206, 213, 2, 999),
      orderValue: fc.constantFrom(undefined, undefined, 80),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), ...picks }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      order: fc.nat(2),
      eventId: fc.constantFrom(301, 302, 305),
      siteId: fc.constantFrom(1101, 1102, 1202),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      time: fc.constantFrom(1000, DAY, 5 * DAY, 31 * DAY),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('tick' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trouble' as const), isOn: fc.boolean() }) },
);
export type Step = typeof steps extends fc.Arbitrary<infer One> ? One : never;

export function randomHistories(count: number, seed: number): readonly (readonly Step[])[] {
  return fc.sample(fc.array(steps, { minLength: 8, maxLength: 20 }), { numRuns: count, seed });
}
