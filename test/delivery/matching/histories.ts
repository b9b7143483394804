import fc from 'fast-check';
import { type DomainEvent } from '../../../src/kernel/decider';
import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { AT, content, created, DELETED, moved, replaced } from './recorded-events';
import { receiverId } from './matching-model';

/** An event and its stream. */
export type Step = readonly [stream: string, event: DomainEvent];

const URLS = [
  'https://a.example/?e=${epi}&a=${amount}&c=${currencyId}',
  'https://b.example/${claimId}/${shop}',
  'https://c.example/${amount}',
];
const SUBSCRIPTIONS = ['a', 'b', 'c', 'd', 'e'] as const;
const CURRENCIES = ['EUR', 'USD', 'SEK', 'NOK'] as const;

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });
const some = (...ids: readonly number[]) => fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1 });

const subscriptions: fc.Arbitrary<SubscriptionContent> = fc
  .record({
    filter: fc.record({
      programIds: maybe(some(1, 2)),
      siteIds: maybe(some(10, 11)),
      eventIds: maybe(some(100, 101)),
      eventTypeIds: maybe(some(4, 5)),
      stateIds: some(1, 2, 3),
    }),
    siteId: maybe(fc.constantFrom(10, 11)),
    receivers: fc.array(
      fc.record({
        receiverUrl: fc.constantFrom(...URLS),
        httpMethod: fc.constant('GET'),
        disabled: maybe(fc.constant(true)),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    currencyConversion: maybe(fc.record({ to: fc.constantFrom(...CURRENCIES) })),
    customAttribute: maybe(
      fc.constantFrom({
        tdAttributes: ['epi', 'amount'],
        userAttribute: 'shop',
        rules: [
          { inputs: ['x', '1'], output: 'first' },
          { inputs: ['', '2'], output: 'second' },
          { inputs: ['', '2'], output: 'never' },
        ],
      }),
    ),
    disabled: fc.option(fc.constant(true), { nil: undefined, freq: 5 }),
    strictOrder: maybe(fc.constant(true)),
  })
  // As they are stored: without what is undefined.
  .map((generated) => content(JSON.parse(JSON.stringify(generated)) as SubscriptionContent));

const stream = fc.constantFrom(...SUBSCRIPTIONS).map((id) => `subscription-${id}`);
const receiver = (of: string) =>
  fc.constantFrom(...URLS).map((url) => receiverId(of.replace('subscription-', ''), url));

const creation: fc.Arbitrary<Step> = fc
  .tuple(stream, fc.constantFrom(1, 2, 3), subscriptions)
  .map(([of, organisation, subscription]) => [of, created(organisation, subscription)]);

const replacement: fc.Arbitrary<Step> = fc
  .tuple(stream, subscriptions)
  .map(([of, next]) => [of, replaced(next)]);

/** Requests have a stream of their own; old logs have them in that of their subscription. */
const request: fc.Arbitrary<Step> = stream.chain((of) =>
  fc.tuple(receiver(of), fc.nat(4), fc.boolean()).map(([id, kind, isOld]): Step => {
    const own = isOld ? of : of.replace('subscription-', 'deliveryrequests-');
    if (kind === 0) return [own, { type: 'TestRequested', data: { at: AT, receiver: id, stateId: 2 } }];
    if (kind === 1) return [of, { type: 'ReceiverDisabled', data: { at: AT, receiver: id, reason: 'gone' } }];
    if (kind === 2) return [own, { type: 'ProbeRequested', data: { at: AT, receiver: id } }];
    if (kind === 3) return [of, { type: 'RedeliveriesCancelled', data: { at: AT } }];
    return [
      own,
      { type: 'RedeliveryRequested', data: { at: AT, receiver: id, message: `msg_${id}`, revision: 0 } },
    ];
  }),
);

const rates: fc.Arbitrary<Step> = fc
  .constantFrom(0.25, 0.5, 2, 8)
  .map((usd) => [
    'exchange-rates',
    { type: 'ExchangeRatesPublished', data: { at: AT, day: '2026-03-01', rates: { USD: usd, SEK: 4 } } },
  ]);

const move: fc.Arbitrary<Step> = fc
  .record({
    claim: fc.nat(5),
    parties: fc.array(fc.constantFrom(1, 2, 3), { maxLength: 3 }),
    programId: fc.constantFrom(1, 2),
    siteId: fc.constantFrom(10, 11),
    eventId: fc.constantFrom(100, 101),
    eventTypeId: fc.constantFrom(4, 5),
    stateId: fc.constantFrom(1, 2, 3),
    currencyId: fc.constantFrom(...CURRENCIES),
    amount: maybe(fc.constantFrom(1, 2, 10.25)),
    epi: maybe(fc.constantFrom('x', 'y/&z')),
  })
  .map(({ claim, amount, epi, ...occurrence }) => {
    const values = { claimId: String(claim), currencyId: occurrence.currencyId, amount, epi };
    const attributes = JSON.parse(JSON.stringify(values)) as Readonly<Record<string, string | number>>;
    return [`claim-${claim}`, moved({ ...occurrence, attributes })];
  });

/** The events of a log: subscriptions come and go while claims move. */
export const histories: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { arbitrary: creation, weight: 3 },
      { arbitrary: replacement, weight: 1 },
      { arbitrary: request, weight: 2 },
      { arbitrary: stream.map((of): Step => [of, DELETED]), weight: 1 },
      { arbitrary: rates, weight: 1 },
      { arbitrary: move, weight: 10 },
    ),
    { minLength: 20, maxLength: 120, size: 'max' },
  )
  .map(withoutSecondCreation);

/** The decider creates a subscription once, and does nothing before or after its life. */
function withoutSecondCreation(steps: readonly Step[]): readonly Step[] {
  const active = new Set<string>();
  const used = new Set<string>();
  return steps.filter(([of, { type }]) => {
    if (!of.startsWith('subscription-')) return true;
    if (type !== 'SubscriptionCreated')
      return type === 'SubscriptionDeleted' ? active.delete(of) : active.has(of);
    if (used.has(of)) return false;
    used.add(of);
    active.add(of);
    return true;
  });
}
