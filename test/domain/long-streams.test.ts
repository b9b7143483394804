import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type ClaimCommand, claimDecider, type ClaimState } from '../../src/domain/claims/claim';
import {
  type Decider,
  type DomainEvent,
  execute,
  load,
  toFolded,
  toNewEvent,
} from '../../src/kernel/decider';
import { streamOf } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { Fault } from '../../src/kernel/fault';
import { reservations } from '../../src/domain/keys/reservation';
import { RATES_ID, RATES_STREAM, ratesDecider } from '../../src/delivery/matching/rates';
import { type SubscriptionCommand, subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { quota } from '../../src/domain/products/quota';
import { type TransactionCommand, transactionDecider } from '../../src/domain/transactions/transaction';
import { voucherDecider, type VoucherCommand } from '../../src/domain/vouchers/voucher';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { contentOf } from './claims/claim-log';
import { cases } from '../support/size';
import { overrideLog, withLog } from '../support/temporary-log';
import { FACTS, FINE } from './transactions/cases';
import { checked } from './vouchers/posted';

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-06-01T12:00:00.000Z';
const LONG = 'x'.repeat(50_000);

/** The log, and how many bytes of events were read of it since this was asked last. */
function counting(log: EventLog): { readonly log: EventLog; readonly bytes: () => number } {
  let count = 0;
  const counted = overrideLog(log, {
    async *readStream(...args) {
      for await (const batch of log.readStream(...args)) {
        for (const { data } of batch) count += Buffer.byteLength(data);
        yield batch;
      }
    },
  });
  return {
    log: counted,
    bytes: () => {
      const before = count;
      count = 0;
      return before;
    },
  };
}

const transactionReport = {
  do: 'report',
  at: AT,
  transaction: { ...FACTS, reportInfo: LONG },
  posted: [],
  surroundings: FINE,
  terms: {},
} as const;
const origin = { publisherId: 5, advertiserId: 3, currencyId: 'EUR' };
const claimOf = (order: string) => ({ ...contentOf(order), advertiserInformation: LONG });

/** Reads the state by the same path as requests, and changes it for the n-th time. */
type Repeat = (log: EventLog, id: string, n: number) => Promise<unknown>;

describe.each<[string, Repeat]>([
  [
    'an amendment of a transaction (decisions T5)',
    async (log, id, n) => {
      const command: TransactionCommand =
        n === 0
          ? transactionReport
          : { do: 'amend', at: AT, amendments: { orderValue: n, reportInfo: `${n}${LONG}` } };
      await execute(SYSTEM_CLOCK, log, transactionDecider, id, command);
    },
  ],
  [
    'an edit of a voucher (decisions V2)',
    async (log, id, n) => {
      const post = checked({ title: `${n}`, description: LONG });
      await execute(SYSTEM_CLOCK, log, voucherDecider, id, { do: 'post', at: AT, ...post });
    },
  ],
  [
    'an update of a claim (decisions C9)',
    async (log, id, n) => {
      const written = { at: AT, claim: claimOf(`${n}`), screening: { statusId: 2 } } as const;
      const command: ClaimCommand =
        n === 0
          ? { do: 'file', origin, ...written }
          : { do: 'revise', version: n - 1, ...origin, ...written };
      await execute(SYSTEM_CLOCK, log, claimDecider, id, command);
    },
  ],
  [
    'a reservation of a key',
    async (log, id, n) => {
      const one = { owner: 1, at: AT };
      await execute(
        SYSTEM_CLOCK,
        log,
        reservations('key'),
        id,
        n % 2 === 0 ? { next: one, at: AT } : { seen: one, at: AT },
      );
    },
  ],
  [
    'a PUT of a subscription that another request has changed meanwhile',
    async (log, id, n) => {
      const receivers = [{ httpMethod: 'GET', receiverUrl: `https://shop.example/${n}${LONG}` }] as const;
      const subscription = { filter: { stateIds: [4] }, receivers };
      const known = await load(log, subscriptionDecider, id);
      // Of all but the first one another request is faster.
      if (n > 0)
        await log.append(`subscription-${id}`, known.revision, [
          toNewEvent({ type: 'BackfillsCancelled', data: { at: AT } }, randomUUID()),
        ]);
      const command: SubscriptionCommand =
        n === 0
          ? { do: 'create', at: AT, topic: 'transactions', organisationId: 1, subscription }
          : { do: 'replace', at: AT, subscriptionId: id, subscription };
      await execute(SYSTEM_CLOCK, log, subscriptionDecider, id, command, known);
    },
  ],
])('%s', (_, repeat) => {
  it('reads as few bytes the 60th time as the 6th', () =>
    withLog(async (embedded) => {
      const { log, bytes } = counting(embedded);
      const read: number[] = [];
      for (let n = 0; n < 60; n += 1) {
        await repeat(log, '1', n);
        read.push(bytes());
      }
      const most = Math.max(...read.slice(0, 6));
      expect(most).toBeLessThan(5 * 55_000);
      // Numbers of two digits are longer.
      expect(Math.max(...read)).toBeLessThan(most + 100);
    }));
});

/**
 * Executes the commands that a decider accepts; after each, what `load` returns must be the fold of the whole stream.
 */
async function requireExactLoads<Command, State, Event extends DomainEvent>(
  log: EventLog,
  decider: Decider<Command, State, Event>,
  commands: readonly ((state: State) => Command)[],
): Promise<void> {
  const id = randomUUID();
  for (const command of commands) {
    let { initial: state } = decider;
    let revision = -1;
    for await (const batch of log.readStream(streamOf(decider.category, id)))
      for (const recorded of batch) {
        state = decider.evolve(state, toFolded<Event>(recorded));
        ({ revision } = recorded);
      }
    expect(await load(log, decider, id)).toMatchObject({ state, revision });
    try {
      await execute(SYSTEM_CLOCK, log, decider, id, command(state));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }
}

const surroundings = fc.record({
  program: fc.constantFrom('active', 'paused', 'closed'),
  invoicesPaid: fc.boolean(),
  isConnected: fc.constant(true),
  pendingDays: fc.constantFrom(0, 10),
  autoDeny: fc.boolean(),
});
const at = fc.constantFrom(AT, LATER);
const amendments = fc.record({ orderValue: fc.integer({ min: 1, max: 9 }) });
const transactionCommand: fc.Arbitrary<TransactionCommand> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('amend' as const), at, amendments }) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        do: fc.constant('report' as const),
        at,
        transaction: fc.constant(FACTS),
        posted: fc.constant([]),
        surroundings,
        terms: fc.constant({ commission: { percent: 5 } }),
        isHeld: fc.constant(true as const),
      },
      { requiredKeys: ['do', 'at', 'transaction', 'posted', 'surroundings', 'terms'] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('validate' as const), at, surroundings }) },
  fc.record({ do: fc.constant('endPeriod' as const), at }),
  fc.record({ do: fc.constant('invalidate' as const), at, reason: fc.constant('no') }),
  fc.record({ do: fc.constantFrom('approve' as const, 'deny' as const, 'delete' as const), at, amendments }),
  fc.record({ do: fc.constant('pay' as const), at, paymentId: fc.constantFrom(1, 2) }),
);

const screening = fc.record(
  {
    statusId: fc.constantFrom(2 as const, 100 as const, 105 as const, 106 as const),
    autoApproveAt: fc.constant(AT),
  },
  { requiredKeys: ['statusId'] },
);
const claimCommand: fc.Arbitrary<(state: ClaimState) => ClaimCommand> = fc
  .record({
    what: fc.constantFrom<ClaimCommand['do']>(
      ...([
        'file',
        'revise',
        'revise',
        'screen',
        'review',
        'rule',
        'autoApprove',
        'track',
        'reclaimKey',
      ] as const),
      ...(['withdraw', 'void'] as const),
    ),
    at,
    screening,
    order: fc.constantFrom('A', 'B'),
    statusId: fc.constantFrom(3 as const, 206 as const),
    currencyId: fc.constantFrom('EUR', 'JPY'),
  })
  .map(({ what, order, statusId, currencyId, ...fields }) => (state) => {
    const version = state.is === 'filed' ? state.version : 0;
    const review = { statusId: statusId === 3 ? 2 : statusId };
    const more = {
      version,
      origin,
      review,
      ruling: { statusId },
      transactionId: order,
      claim: contentOf(order),
    };
    return { do: what, ...fields, ...more, ...origin, currencyId } as unknown as ClaimCommand;
  });

const voucherCommand: fc.Arbitrary<VoucherCommand> = fc
  .record({
    at,
    title: fc.constantFrom('a', 'b', 'c'),
    isPost: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
  })
  .map(({ at: time, title, isPost }) =>
    isPost ? { do: 'post', at: time, ...checked({ title }, 'source') } : { do: 'withdraw', at: time },
  );

const reservation = fc.constantFrom(1, 2).map((owner) => ({ owner, at: AT }));
const keyCommand = fc.record(
  { seen: reservation, next: reservation, at: fc.constant(AT) },
  { requiredKeys: ['at'] },
);

const download = fc.record(
  {
    feedId: fc.constant(1),
    organisationId: fc.constant(2),
    version: fc.constantFrom('10', '20'),
    page: fc.integer({ min: 1, max: 3 }),
    at,
    recordedAt: fc.constant('30'),
  },
  { requiredKeys: ['feedId', 'organisationId', 'version', 'at', 'recordedAt'] },
);

const ratesCommand = fc.record({
  at,
  day: fc.constantFrom('2026-03-01', '2026-03-02', '2026-03-03'),
  rates: fc.constantFrom({ SEK: 10 }, { SEK: 11 }),
});

const subscriptionCommand: fc.Arbitrary<SubscriptionCommand> = fc
  .record({
    what: fc.constantFrom<SubscriptionCommand['do']>(
      ...(['replace', 'replace', 'disableReceiver', 'enableReceiver', 'rotateSecret'] as const),
      ...(['cancelRedeliveries', 'cancelBackfills', 'create', 'delete', 'restate'] as const),
    ),
    at,
    receiver: fc.constantFrom('r', 's'),
    url: fc.constantFrom('https://a.example/', 'https://b.example/'),
  })
  .map(({ what, url, ...fields }) => {
    const receivers = [{ httpMethod: 'GET', receiverUrl: url }];
    const subscription = { filter: { stateIds: [4] }, receivers };
    const more = { topic: 'transactions', organisationId: 1, subscriptionId: '1', reason: 'gone' };
    return { do: what, ...fields, ...more, subscription } as SubscriptionCommand;
  });

describe('a state is the fold of its whole stream, though only a part is read: of', () => {
  const runs = { numRuns: cases(500, 60) };
  const law = <One>(one: fc.Arbitrary<One>, check: (log: EventLog, all: readonly One[]) => Promise<void>) =>
    withLog(async (log) => {
      const all = fc.array(one, { minLength: 1, maxLength: 25 });
      await fc.assert(
        fc.asyncProperty(all, (commands) => check(log, commands)),
        runs,
      );
    });
  const constantly = <Command>(commands: readonly Command[]) => commands.map((command) => () => command);

  it('transactions', () =>
    law(transactionCommand, (log, all) =>
      requireExactLoads(log, transactionDecider, constantly([transactionReport, ...all])),
    ));
  it('transactions that begin in any way', () =>
    law(transactionCommand, (log, all) => requireExactLoads(log, transactionDecider, constantly(all))));
  it('claims', () => law(claimCommand, (log, all) => requireExactLoads(log, claimDecider, all)));
  it('vouchers', () =>
    law(voucherCommand, (log, all) => requireExactLoads(log, voucherDecider, constantly(all))));
  it('subscriptions', () =>
    law(subscriptionCommand, (log, all) => {
      const create = { ...all[0], do: 'create' } as SubscriptionCommand;
      const subscription = { filter: { stateIds: [5] }, receivers: [] };
      const first = { ...create, topic: 'claims', organisationId: 1, subscription } as SubscriptionCommand;
      return requireExactLoads(log, subscriptionDecider, constantly([first, ...all]));
    }));
  it('keys', () =>
    law(keyCommand, (log, all) => requireExactLoads(log, reservations('key'), constantly(all))));
  it('downloads', () => law(download, (log, all) => requireExactLoads(log, quota, constantly(all))));
  it('exchange rates', () =>
    law(ratesCommand, (log, all) => requireExactLoads(log, ratesDecider, constantly(all))));
});

it('exchange rates are those published last, though events without rates follow them (decisions N12)', () =>
  withLog(async (log) => {
    const published = { at: AT, rates: { SEK: 10 } };
    const unusable = { type: 'ExchangeRatesPublished', data: {} };
    for (const day of ['2026-03-05', '2026-03-07'])
      await execute(SYSTEM_CLOCK, log, ratesDecider, RATES_ID, { day, ...published });
    for (const revision of [1, 2, 3])
      await log.append(RATES_STREAM, revision, [toNewEvent(unusable, randomUUID())]);
    const newest = { day: '2026-03-07', rates: { SEK: 10 } };
    expect(await load(log, ratesDecider, RATES_ID)).toMatchObject({ state: newest, revision: 4 });
    const repeated = await execute(SYSTEM_CLOCK, log, ratesDecider, RATES_ID, {
      ...published,
      day: '2026-03-06',
    });
    expect(repeated.events).toEqual([]);
  }));

it('of a subscription with many requests of old, those are not read again once it was replaced (ADR 35)', () =>
  withLog(async (embedded) => {
    const { log, bytes } = counting(embedded);
    const subscription = { filter: { stateIds: [4] }, receivers: [] };
    const create = { do: 'create', at: AT, topic: 'transactions', organisationId: 1, subscription } as const;
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, '1', create);
    const test = { type: 'TestRequested', data: { at: AT, receiver: 'r', stateId: 4 } };
    for (let revision = 0; revision < 2_000; revision += 500)
      await embedded.append(
        'subscription-1',
        revision,
        Array.from({ length: 500 }, () => toNewEvent(test, randomUUID())),
      );
    const replaced = { filter: { stateIds: [5] }, receivers: [] };
    const replace = { do: 'replace', at: LATER, subscriptionId: '1', subscription: replaced } as const;
    const before = await load(log, subscriptionDecider, '1');
    expect([before.revision, before.state]).toEqual([
      2_000,
      expect.objectContaining({ content: subscription }),
    ]);
    expect(bytes()).toBeGreaterThan(100_000);
    const { state } = await execute(SYSTEM_CLOCK, log, subscriptionDecider, '1', replace);
    bytes();
    expect(await load(log, subscriptionDecider, '1')).toMatchObject({ state, revision: 2_001 });
    expect(bytes()).toBeLessThan(1_000);
  }));
