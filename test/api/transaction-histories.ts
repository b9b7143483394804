import fc from 'fast-check';
import { type ModelRequest, REPORT_INFOS } from '../support/transaction-model';

export const CALLERS = ['nord', 'casa', 'operator'] as const;
const PROGRAMS = [101, 102, 201] as const;
export const SITES = [1101, 1102, 1201] as const;

const DAY = 86_400_000;

/** A report; `order` is its number within the history, so that some are reported again with other values. */
const report = fc.record(
  {
    order: fc.nat(4),
    programId: fc.constantFrom(101, 101, 101, ...PROGRAMS, ...PROGRAMS, 999),
    /** Which event of the program: the last one is of another program. */
    event: fc.constantFrom(0, 0, 0, 0, 0, 1, 1, 1, 1, 2),
    siteId: fc.constantFrom(1101, 1101, 1101, 1101, 1101, 1101, ...SITES, 9999),
    orderValue: fc.constantFrom(0, 10, 10, 12.35, 12.345, 100, 100),
    publisherCommission: fc.constantFrom(1, 1, 0.6),
    eventType: fc.constantFrom('click', 'click', 'impression', 'impression', 'wrong'),
    /** Before the present (ms); a negative one is ahead. */
    eventAgo: fc.constantFrom(0, 60_000, 3 * DAY, 0, 60_000, 3 * DAY, -299_000, -301_000),
    visitAgo: fc.constantFrom(120_000, 5 * DAY, 5 * DAY, 5 * DAY, -DAY),
    epi2: fc.constantFrom('x', 'y'),
    visitorId: fc.constant('v'),
    reportInfo: fc.constantFrom(...Object.keys(REPORT_INFOS)),
    validate: fc.constantFrom(true, true, false),
  },
  { requiredKeys: ['order', 'programId', 'event', 'siteId'] },
);
export type RandomReport = typeof report extends fc.Arbitrary<infer R> ? R : never;

const withValue = report.map((one): RandomReport => ({ orderValue: 10, ...one }));

const request = fc.constantFrom<ModelRequest>(
  { action: 'approve' },
  { action: 'approve', deniedReasonId: 2 },
  { action: 'approve', orderValue: 50 },
  { action: 'deny' },
  { action: 'deny', deniedReasonId: 10 },
  { action: 'delete', deniedReasonId: 19 },
  { action: 'validate' },
  { action: 'validate' },
  { action: 'invalidate' },
  { action: 'pay', paymentId: 1 },
  { action: 'pay', paymentId: 2 },
  { action: 'amend', orderValue: 10 },
  { action: 'amend', orderValue: 33.33 },
  { action: 'amend', publisherCommission: 2 },
);

const caller = fc.constantFrom(
  ...CALLERS,
  ...(['nord', 'nord', 'operator', 'operator', 'operator'] as const),
);
const move = fc.record({ pick: fc.nat(), request, byLegacyId: fc.boolean() });
export type RandomMove = typeof move extends fc.Arbitrary<infer M> ? M : never;

const change = fc.record({
  programId: fc.constantFrom(...PROGRAMS),
  status: fc.constantFrom(
    'active',
    'active',
    'active',
    'active',
    'paused',
    'paused',
    'paused',
    'closed',
    'removed',
  ),
  invoicesPaid: fc.boolean(),
  events: fc.array(
    fc.record(
      {
        pendingDays: fc.constantFrom(0, 1, 3),
        autoDeny: fc.boolean(),
        isRemoved: fc.constantFrom(...Array<boolean>(9).fill(false), true),
        commission: fc.constantFrom({ percent: 7 }, { percent: 50 }, { fixed: 3 }),
      },
      { requiredKeys: ['pendingDays', 'autoDeny', 'isRemoved'] },
    ),
    { minLength: 2, maxLength: 2 },
  ),
});
export type ProgramChange = typeof change extends fc.Arbitrary<infer C> ? C : never;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      caller,
      isXml: fc.boolean(),
      report: withValue,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('reports' as const),
      caller,
      reports: fc.array(fc.oneof(withValue, report), { minLength: 2, maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), caller, pick: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('move' as const), caller, move }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('moves' as const),
      caller,
      moves: fc.array(move, { minLength: 2, maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('program' as const), change }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('connection' as const),
      siteId: fc.constantFrom(...SITES),
      programId: fc.constantFrom(...PROGRAMS),
      isMade: fc.constantFrom(true, true, true, true, true, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      time: fc.constantFrom(1, 1000, DAY - 1000, DAY, 3 * DAY),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('tick' as const) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Random histories; the same for a seed. */
export function randomHistories(count: number, seed: number): readonly (readonly Step[])[] {
  return fc.sample(fc.array(step, { minLength: 6, maxLength: 24, size: 'max' }), { numRuns: count, seed });
}
