import { claimAutomations } from '../../src/processes/automations';
import { type ClaimCommand, type ClaimContent, claimDecider } from '../../src/domain/claims/claim';
import { Directory } from '../../src/network/directory';
import { type OrdersNow } from '../../src/processes/track-order';
import { execute, load } from '../../src/kernel/decider';
import { type Position, START } from '../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { transactionDecider } from '../../src/domain/transactions/transaction';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { SHARED_LOGS, type SharedLog } from '../support/shared-logs';
import { report, sale } from '../support/transactions';
import { AT, contentOf } from '../domain/claims/claim-log';

/** Claims of one order: of other events, dates and publishers. */
const CLAIMS: readonly { readonly publisherId: number; readonly content: Partial<ClaimContent> }[] = [
  { publisherId: 5, content: {} },
  { publisherId: 5, content: { eventId: 311 } },
  { publisherId: 6, content: { eventId: 312, siteId: 61 } },
  { publisherId: 6, content: { transactionDate: '2026-02-26', siteId: 61 } },
];

const directory = new Directory();
directory.evolve({
  type: 'ProgramDefined',
  data: {
    ...{ id: 31, organisationId: 3, name: 'Fjord', country: 'NO', currency: 'NOK', logoUrl: null },
    ...{ acceptsClaims: true, daysToAutoApprove: null, at: AT },
    events: [17, 311, 312].map((id) => ({
      ...{ id, name: `Event ${id}`, kind: 'sale' as const, pendingDays: 0, inquiry: false },
      commission: { percent: 5 },
    })),
  },
});

/**
 * What an automation of a process does with an approved claim. By default the read model of transactions is always
 * behind.
 */
function processOver(
  log: EventLog,
  ordersNow: OrdersNow = async () => [],
): (id: number, version?: Position) => Promise<unknown> {
  const automation = claimAutomations({
    clock: SYSTEM_CLOCK,
    store: undefined as unknown as ReadStore,
    ordersNow,
  }).find(({ name }) => name === 'approved claims that become transactions');
  return async (id, version = START) => {
    const { state } = await load(log, claimDecider, id);
    if (state.is !== 'filed') throw new Error(`claim ${id} is ${state.is}`);
    const body = JSON.stringify({ origin: { advertiserId: 3 }, claim: state.claim });
    const found = { id: String(id), version, body };
    return await automation?.act(found, { clock: SYSTEM_CLOCK, log, directory, at: AT });
  };
}

describe.each(Object.keys(SHARED_LOGS))('Over %s', (engine) => {
  let shared: SharedLog;
  let lastId = 0;
  beforeAll(async () => {
    shared = await SHARED_LOGS[engine]!();
  });
  afterAll(() => shared.close());

  /** Files and approves claims of an order, and returns their ids. */
  async function approve(orderNumber: string, claims = CLAIMS): Promise<readonly number[]> {
    const ids: number[] = [];
    for (const { publisherId, content } of claims) {
      const id = (lastId += 1);
      const origin = { publisherId, advertiserId: 3, currencyId: 'NOK' };
      const commands: readonly ClaimCommand[] = [
        {
          do: 'file',
          at: AT,
          origin,
          claim: { ...contentOf(orderNumber), ...content },
          screening: { statusId: 2 },
        },
        { do: 'rule', at: AT, version: 0, ruling: { statusId: 3 } },
      ];
      for (const command of commands) await execute(SYSTEM_CLOCK, shared.log, claimDecider, id, command);
      ids.push(id);
    }
    return ids;
  }

  /** The transactions in the log with an order number. */
  async function transactionsOf(orderNumber: string): Promise<readonly string[]> {
    const streams = new Set<string>();
    for await (const { events } of shared.log.readAll({ after: START, prefixes: ['transaction-'] }))
      for (const { stream, data } of events) if (data.includes(`"${orderNumber}"`)) streams.add(stream);
    return [...streams];
  }

  async function trackedIn(ids: readonly number[]): Promise<ReadonlySet<string | undefined>> {
    const states = await Promise.all(ids.map((id) => load(shared.log, claimDecider, id)));
    return new Set(states.map(({ state }) => (state.is === 'filed' ? state.transactionId : undefined)));
  }

  it('an order has one transaction, though processes that all believe to have the lease race on its claims (decisions C10)', async () => {
    for (let n = 0; n < 10; n += 1) {
      const order = `raced ${n}`;
      const ids = await approve(order);
      const shuffled = ids.toSorted((a, b) => ((a * (n + 7)) % 5) - ((b * (n + 7)) % 5));
      const processes = [shuffled, shuffled.toReversed(), ids].map(async (own) => {
        const act = processOver(shared.log);
        for (const id of own) await act(id);
      });
      await Promise.all(processes);
      const transactions = await transactionsOf(order);
      expect(transactions).toHaveLength(1);
      expect(await trackedIn(ids)).toEqual(new Set([transactions[0]?.replace('transaction-', '')]));
    }
  });

  it('of a process that ends anywhere, another one finishes what it has begun (decisions C10)', async () => {
    for (let count = 1; count <= 3; count += 1) {
      const order = `ended at ${count}`;
      const ids = await approve(order, CLAIMS.slice(0, 2));
      let appends = 0;
      const ending = overrideLog(shared.log, {
        append: async (...args) => {
          if ((appends += 1) >= count) throw new EngineUnavailable('the process has ended');
          return await shared.log.append(...args);
        },
      });
      await expect(processOver(ending)(ids[0]!)).rejects.toThrow('the process has ended');
      const act = processOver(shared.log);
      for (const id of ids.toReversed()) await act(id);
      expect(await transactionsOf(order)).toHaveLength(1);
      expect([...(await trackedIn(ids))]).toHaveLength(1);
    }
  });

  it('what was reported before its approval counts, also if another claim of the order finishes it (decisions C10)', async () => {
    const order = 'reported between approvals';
    const [earlier] = await approve(order, CLAIMS.slice(0, 1));
    const version = await shared.log.head();
    const reported = sale({ orderNumber: order, eventId: 311 });
    const transactionId = await report(shared.log, directory, new Date(AT), reported);
    const reportedAt = await shared.log.head();
    const [first] = await approve(order, CLAIMS.slice(0, 1));
    const ordersNow: OrdersNow = async (_, __, since) => {
      const order = {
        transactionId,
        programId: 31,
        siteId: 52,
        publisherId: 5,
        standing: 'pending',
      } as const;
      return since < reportedAt ? [] : [order];
    };
    let appends = 0;
    const ending = overrideLog(shared.log, {
      append: async (...args) => {
        if ((appends += 1) > 1) throw new EngineUnavailable('the process has ended');
        return await shared.log.append(...args);
      },
    });
    await expect(processOver(ending, ordersNow)(first!, await shared.log.head())).rejects.toThrow();
    await processOver(shared.log, ordersNow)(earlier!, version);
    expect(await transactionsOf(order)).toEqual([`transaction-${transactionId}`]);
    expect(await trackedIn([earlier!, first!])).toEqual(new Set([transactionId]));
  });

  it('a claim takes the order over if its transaction was refused for another publisher (decisions C10)', async () => {
    const order = 'refused';
    const [first, , second] = await approve(order);
    const act = processOver(shared.log);
    await act(first!);
    const [transactionId] = await trackedIn([first!]);
    await execute(SYSTEM_CLOCK, shared.log, transactionDecider, transactionId!, { do: 'delete', at: AT });
    await act(second!);
    expect(await transactionsOf(order)).toHaveLength(2);
    expect([...(await trackedIn([first!, second!]))]).toHaveLength(2);
  });
});
