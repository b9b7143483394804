import { commissionOf } from '../../../src/network/programs';
import { TRANSITIONS, STATES, type StateName, type Trigger } from '../../../src/domain/transactions/states';
import {
  STATE_OF,
  type Surroundings,
  type TransactionCommand,
  type TransactionEvent,
} from '../../../src/domain/transactions/transaction';
import { type Amendments } from '../../../src/domain/transactions/transaction-facts';
import { toOutput } from '../../../src/domain/transactions/stored-transaction';
import { listedTransaction } from '../../../src/domain/transactions/transaction-fields';
import { golden } from '../../support/golden';
import { AT, after, decide, FACTS, FINE, report, stateAfter, WAYS } from './cases';

/** What a document's trigger is in commands. */
const COMMANDS: Readonly<Record<Trigger, (from: StateName) => TransactionCommand>> = {
  'fails validation': () => validated({ isConnected: false }),
  'program is paused': () => validated({ program: 'paused' }),
  'event has a pending period': () => validated({ pendingDays: 10 }),
  'event has no pending period': () => validated({ pendingDays: 0 }),
  'program is closed without payment': () => validated({ program: 'closed' }),
  approved: () => ({ do: 'approve', at: AT, reason: 21 }),
  denied: () => ({ do: 'deny', at: AT, reason: 22 }),
  deleted: () => ({ do: 'delete', at: AT, reason: 10 }),
  paid: () => ({ do: 'pay', at: AT, paymentId: 7 }),
};

function validated(changes: Partial<Surroundings>): TransactionCommand {
  return { do: 'validate', at: AT, surroundings: { ...FINE, ...changes } };
}

const NAMES = Object.values(STATES).map(({ name }) => name);

describe('a transaction (Document 2, States and transitions)', () => {
  it.each(NAMES)('can be %s', (name) => {
    expect(stateAfter(WAYS[name]).name).toBe(name);
  });

  it.each(TRANSITIONS)('Document 2, States and transitions: $from, $on: $to', ({ from, on, to }) => {
    const state = stateAfter(WAYS[from]);
    expect(decide(COMMANDS[on](from), state).map(({ type }) => STATE_OF[type])).toEqual([to]);
  });

  const triggers = Object.keys(COMMANDS) as readonly Trigger[];
  const others = NAMES.flatMap((from) =>
    triggers
      // A closed program makes a Tracked one fail validation.
      .filter((on) => from !== 'Tracked' || on !== 'program is closed without payment')
      .filter((on) => !TRANSITIONS.some((move) => move.from === from && move.on === on))
      .map((on) => [from, on] as const),
  );

  it.each(others)('does not leave %s when it is or has: %s (decisions T5)', (from, on) => {
    const state = stateAfter(WAYS[from]);
    let events: readonly TransactionEvent[] = [];
    try {
      events = decide(COMMANDS[on](from), state);
    } catch (error) {
      expect(error).toMatchObject({ code: 'CON_520', status: 409 });
      expect((error as Error).message).toContain(from);
    }
    expect(events).toEqual([]);
  });

  it.each(['validate', 'endPeriod', 'invalidate', 'approve', 'deny', 'delete', 'pay', 'amend'] as const)(
    'has to be reported before: %s',
    (action) => {
      const command = { do: action, at: AT, surroundings: FINE, reason: 21, paymentId: 1, amendments: {} };
      expect(() => decide(command as unknown as TransactionCommand, after())).toThrow(
        expect.objectContaining({ code: 'CON_500' }) as Error,
      );
    },
  );
});

it('is listed with its attributes in the order of Document 2, Message attributes (decisions T6)', () => {
  const listed = {
    transactionId: 'x',
    messageTypeId: 4,
    transaction: FACTS,
    changed: 0,
    sequenceNumber: 1,
  } as const;
  expect(Object.keys(toOutput(listed, 'iso8601'))).toEqual(Object.keys(listedTransaction.fields));
});

describe('a report (decisions T2, T3)', () => {
  it('enters Tracked and the next state at once', () => {
    expect(decide(report(), after()).map(({ type }) => type)).toEqual([
      'TransactionTracked',
      'TransactionBecamePending',
    ]);
  });

  const TERMS = { commission: { percent: 7.5 } };

  it('that is held enters Tracked only', () => {
    expect(decide(report({}, { isHeld: true }), after())).toEqual([
      { type: 'TransactionTracked', data: { at: AT, transaction: FACTS, terms: TERMS, isHeld: true } },
    ]);
  });

  it.each<[string, Partial<Surroundings>, object, readonly string[]]>([
    [
      'of a site that is not connected',
      { isConnected: false },
      {},
      ['the site is not connected to the program'],
    ],
    ['of a closed program', { program: 'closed' }, {}, ['the program is closed']],
    [
      'of a visit after the event',
      {},
      { timeOfVisit: '2026-03-01T11:00:00.001Z' },
      ['timeOfVisit is later than timeOfEvent'],
    ],
    [
      'with several reasons, even in a paused program',
      { program: 'paused', isConnected: false },
      { timeOfVisit: '2026-03-02T00:00:00.000Z' },
      ['the site is not connected to the program', 'timeOfVisit is later than timeOfEvent'],
    ],
  ])('%s is Invalid', (_, surroundings, facts, reasons) => {
    const transaction = { ...FACTS, ...facts };
    expect(decide(report(surroundings, { transaction }), after())[1]).toEqual({
      type: 'TransactionInvalidated',
      data: { at: AT, transaction, reasons },
    });
  });

  it('begins the pending period when it becomes Pending; the system then approves or denies (decisions T4)', () => {
    const end = '2026-03-11T12:00:00.000Z';
    expect(decide(report(), after())[1]?.data).toMatchObject({ autoApproveDate: end });
    expect(decide(report({ autoDeny: true }), after())[1]?.data).toMatchObject({ autoDenyDate: end });
  });

  it.each(NAMES)('does nothing when repeated while %s', (name) => {
    const state = stateAfter(WAYS[name]);
    expect(decide(report({ pendingDays: 3, program: 'paused' }), state)).toEqual([]);
  });

  it('does nothing when repeated after an amendment', () => {
    const pending = stateAfter([...WAYS.Pending, { do: 'amend', at: AT, amendments: { orderValue: 1 } }]);
    expect(decide(report(), pending)).toEqual([]);
  });

  it('with other values in posted fields is CON_510, naming each with both (decisions T2)', () => {
    const transaction = { ...FACTS, orderValue: 1 };
    expect(() => decide(report({}, { transaction }), stateAfter(WAYS.Pending))).toThrow(
      expect.objectContaining({
        code: 'CON_510',
        message: expect.stringMatching(/reported with other values: orderValue is 100, got 0.01;/) as string,
      }) as Error,
    );
    const other = { transaction: { ...transaction, siteId: 5 }, isHeld: true } as const;
    const posted = ['siteId', 'orderValue', 'epi', 'validate'] as const;
    expect(() => decide(report({}, { ...other, posted }), stateAfter(WAYS.Pending))).toThrow(
      'siteId is 1101, got 5; orderValue is 100, got 0.01; validate is true, got false; expected',
    );
    expect(decide(report({}, { isHeld: true, posted: ['validate'] }), stateAfter(WAYS.Tracked))).toEqual([]);
    expect(decide(report({}, { transaction, posted: ['siteId'] }), stateAfter(WAYS.Pending))).toEqual([]);
  });
});

describe('a paused transaction (decisions T4)', () => {
  const paused = stateAfter(WAYS.Paused);

  it('stays while its program is paused', () => {
    expect(decide(validated({ program: 'paused', isConnected: false }), paused)).toEqual([]);
  });

  it('is validated when the program was closed and its invoices were paid', () => {
    const events = decide(validated({ program: 'closed', invoicesPaid: true }), paused);
    expect(events.map(({ type }) => type)).toEqual(['TransactionBecamePending']);
  });

  it('is Invalid when its event or its program was removed', () => {
    expect(decide(validated({ pendingDays: undefined }), paused)[0]?.data).toMatchObject({
      reasons: ['the program does not have the event'],
    });
    const removed = { program: 'unknown', pendingDays: undefined, isConnected: false } as const;
    expect(decide(validated(removed), paused)[0]?.type).toBe('TransactionInvalidated');
  });
});

describe('times of events (decisions T6)', () => {
  const early = '2026-02-28T12:00:00.000Z';

  it.each<TransactionCommand>([
    { do: 'approve', at: early, reason: 21 },
    { do: 'deny', at: early, reason: 22 },
    { do: 'amend', at: early, amendments: { orderValue: 1 } },
  ])('are never before the event before: $do', (command) => {
    const [event] = decide(command, stateAfter(WAYS.Pending));
    expect(event?.data.at).toBe(AT);
    const [later] = decide({ ...command, at: '2026-03-02T12:00:00.000Z' }, stateAfter(WAYS.Pending));
    expect(later?.data.at).toBe('2026-03-02T12:00:00.000Z');
  });
});

describe('the end of a pending period (decisions T4)', () => {
  const end = (at: string): TransactionCommand => ({ do: 'endPeriod', at });

  it('approves, right to the millisecond, with reason 3', () => {
    const pending = stateAfter(WAYS.Pending);
    expect(decide(end('2026-03-11T11:59:59.999Z'), pending)).toEqual([]);
    expect(decide(end('2026-03-11T12:00:00.000Z'), pending)).toEqual([
      {
        type: 'TransactionPendingApproved',
        data: {
          at: '2026-03-11T12:00:00.000Z',
          transaction: FACTS,
          autoApproveDate: '2026-03-11T12:00:00.000Z',
          pendingStatusDateChanged: '2026-03-11T12:00:00.000Z',
          deniedReasonId: 3,
        },
      },
    ]);
  });

  it('denies where the event says so, with reason 4', () => {
    const pending = stateAfter([report({ autoDeny: true })]);
    expect(decide(end('2026-03-11T12:00:00.000Z'), pending)).toMatchObject([
      { type: 'TransactionDeleted', data: { autoDenyDate: '2026-03-11T12:00:00.000Z', deniedReasonId: 4 } },
    ]);
  });

  it.each(NAMES.filter((name) => name !== 'Pending'))('does nothing while %s', (name) => {
    expect(decide(end('2030-01-01T00:00:00.000Z'), stateAfter(WAYS[name]))).toEqual([]);
  });
});

const SAME = { orderValue: 10_000 };

describe('requested transitions (decisions T5)', () => {
  it.each<[string, StateName, TransactionCommand]>([
    ['approve', 'Pending_Approved', { do: 'approve', at: AT }],
    ['approve with the same', 'Pending_Approved', { do: 'approve', at: AT, reason: 21, amendments: SAME }],
    ['approve', 'Tracked_Approved', { do: 'approve', at: AT }],
    ['approve with the same', 'Tracked_Approved', { do: 'approve', at: AT, amendments: SAME }],
    ['approve', 'Paid', { do: 'approve', at: AT, amendments: SAME }],
    ['deny', 'Deleted', { do: 'deny', at: AT }],
    ['deny with the same', 'Deleted', { do: 'deny', at: AT, reason: 22 }],
    ['delete', 'Deleted', { do: 'delete', at: AT }],
    ['pay', 'Paid', { do: 'pay', at: AT, paymentId: 7 }],
    ['invalidate', 'Invalid', { do: 'invalidate', at: AT, reason: 'x' }],
    ['amend to the same', 'Paid', { do: 'amend', at: AT, amendments: { orderValue: 10_000 } }],
  ])('%s does nothing while %s', (_, name, command) => {
    expect(decide(command, stateAfter(WAYS[name]))).toEqual([]);
  });

  it.each<[string, StateName, TransactionCommand]>([
    ['paymentId is 7, got 8', 'Paid', { do: 'pay', at: AT, paymentId: 8 }],
    [
      'orderValue is 100, got 50; deniedReasonId is 21, got 1',
      'Pending_Approved',
      { do: 'approve', at: AT, reason: 1, amendments: { orderValue: 5000 } },
    ],
    ['deniedReasonId is none, got 1', 'Tracked_Approved', { do: 'approve', at: AT, reason: 1 }],
    [
      'publisherCommission is 6, got 0',
      'Paid',
      { do: 'approve', at: AT, amendments: { publisherCommission: 0 } },
    ],
    ['deniedReasonId is 22, got 10', 'Deleted', { do: 'delete', at: AT, reason: 10 }],
    ['deniedReasonId is 22, got 10', 'Deleted', { do: 'deny', at: AT, reason: 10 }],
    ['orderValue is 100, got 0.01', 'Paid', { do: 'amend', at: AT, amendments: { orderValue: 1 } }],
  ])('that would change what can no longer be changed are CON_520: %s, in %s', (message, name, command) => {
    expect(() => decide(command, stateAfter(WAYS[name]))).toThrow(
      expect.objectContaining({
        code: 'CON_520',
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });

  it('an approval by the system is the same as a requested one: defaults are not compared', () => {
    const approved = stateAfter([...WAYS.Pending, { do: 'endPeriod', at: '2026-03-11T12:00:00.000Z' }]);
    expect(decide({ do: 'approve', at: AT }, approved)).toEqual([]);
    expect(() => decide({ do: 'approve', at: AT, reason: 21 }, approved)).toThrow(
      'deniedReasonId is 3, got 21',
    );
  });

  it('amend changes a Pending one, also together with its approval', () => {
    const amendments = { orderValue: 5000, publisherCommission: 300 };
    const pending = stateAfter(WAYS.Pending);
    const [amended] = decide({ do: 'amend', at: AT, amendments }, pending);
    expect(amended).toMatchObject({ type: 'TransactionAmended', data: { transaction: amendments } });
    const [approved] = decide({ do: 'approve', at: AT, reason: 21, amendments }, pending);
    expect(approved).toMatchObject({ type: 'TransactionPendingApproved', data: { transaction: amendments } });
    expect(() => decide({ do: 'amend', at: AT, amendments }, stateAfter(WAYS.Deleted))).toThrow('Deleted');
    expect(() => decide({ do: 'invalidate', at: AT, reason: 'x' }, stateAfter(WAYS.Deleted))).toThrow(
      'the transaction is Deleted (8): it cannot be invalidated in this state',
    );
  });
});

describe('a commission in per cent (decisions T2)', () => {
  it.each([
    [3000, 4.35, 131],
    [1000, 1.15, 12],
    [100, 0.5, 1],
    [99, 0.5, 0],
    [10_000_000_000_000, 4.35, 435_000_000_000],
    [9_999_999_988_494, 4.35, 434_999_999_499],
    [3000, 4.349999, 130],
  ])('of %d hundredths, %d, is rounded half up as on paper: %d', (orderValue, percent, commission) => {
    expect(commissionOf({ commission: { percent } }, orderValue, 'EUR')).toBe(commission);
  });
});

describe('a commission by the terms of the event, when the order value is amended (decisions T5)', () => {
  const terms = { commission: { percent: 6 } } as const;
  const amend = (amendments: Amendments, ...before: readonly TransactionCommand[]) =>
    decide({ do: 'amend', at: AT, amendments, terms }, stateAfter([...WAYS.Pending, ...before]))[0]?.data
      .transaction;

  it('follows it', () => {
    expect(amend({ orderValue: 5000 })).toMatchObject({ orderValue: 5000, publisherCommission: 300 });
    const approval = { do: 'approve', at: AT, reason: 21, amendments: { orderValue: 5000 }, terms } as const;
    expect(decide(approval, stateAfter(WAYS.Pending))[0]?.data.transaction).toMatchObject({
      publisherCommission: 300,
    });
  });

  it('is the amended one if it is amended too, now or before', () => {
    expect(amend({ orderValue: 5000, publisherCommission: 7 })).toMatchObject({ publisherCommission: 7 });
    const before = { do: 'amend', at: AT, amendments: { publisherCommission: 7 } } as const;
    expect(amend({ orderValue: 5000 }, before)).toMatchObject({ publisherCommission: 7 });
  });
});

test('events are folded as they have been stored, for ever (test/golden)', () => {
  const types = Object.keys(STATE_OF) as readonly TransactionEvent['type'][];
  for (const type of types) {
    const { event } = golden<TransactionEvent>(type);
    expect(after(event)).toMatchObject({ name: STATE_OF[type], transaction: { orderNumber: 'N-1001' } });
  }
  const { event } = golden<TransactionEvent>('TransactionTracked', '-terms');
  expect(after(event)).toMatchObject({ terms: { commission: { percent: 7.5 } } });
});
