import { randomUUID } from 'node:crypto';
import { AutomationRunner } from '../../src/automation/runner';
import { FollowedDirectory } from '../../src/directory/follower';
import { execute } from '../../src/kernel/decider';
import { type EventBatch, type EventLog } from '../../src/kernel/event-log';
import { transactionAutomations } from '../../src/transactions/automations';
import { transactionDecider, type TransactionFacts } from '../../src/transactions/transaction';
import { TestApp } from '../support/app';
import { cases } from '../support/size';
import { smallNetwork } from '../support/small-network';
import { overrideLog } from '../support/temporary-log';
import { eventsOfTransaction, report, sale } from '../support/transactions';

const [MINUTE, DAY] = [60_000, 86_400_000];
const AT = Date.parse('2026-01-05T08:00:00.000Z');

const network = smallNetwork();
const [shop] = network.programs;
type Program = typeof shop & object;

let app: TestApp;
let wall: number;
let monotonic: number;
let reports: string[];
let runners: AutomationRunner[];
let runner: AutomationRunner;

beforeEach(async () => {
  [wall, monotonic] = [AT, 5_000];
  [reports, runners] = [[], []];
  app = await TestApp.start({ network, now: () => new Date(wall) });
  runner = newRunner();
});
afterEach(async () => {
  for (const one of runners) await one.stop();
  await app.close();
});

/** Like one of another process. */
function newRunner({
  owner = randomUUID(),
  follower = app.follower,
  log = app.engines.log,
} = {}): AutomationRunner {
  const one = new AutomationRunner({ log, store: app.engines.store, follower }, transactionAutomations, {
    owner,
    clocks: { wall: () => wall, monotonic: () => monotonic },
    report: (failure) => reports.push(String(failure)),
  });
  runners.push(one);
  return one;
}

/** Lets time pass. */
function pass(milliseconds: number): void {
  wall += milliseconds;
  monotonic += milliseconds;
}

/** Does everything that is due now. */
async function automate(one = runner): Promise<void> {
  await app.settled();
  for (const automation of transactionAutomations) while (await one.turn(automation));
}

async function reported(order: Partial<TransactionFacts> = {}): Promise<string> {
  return await report(app.engines.log, app.follower.directory, new Date(wall), sale(order));
}

/** Changes the program, for example its status. */
async function program(change: Partial<Program>): Promise<void> {
  await app.import({ programs: [{ ...shop, ...change }] });
}

async function journey(id: string): Promise<readonly string[]> {
  const events = await eventsOfTransaction(app.engines.log, id);
  return events.map(({ type }) => type.replace('Transaction', ''));
}

async function last(id: string): Promise<object> {
  return (await eventsOfTransaction(app.engines.log, id)).at(-1)?.data ?? {};
}

describe('The end of a pending period', () => {
  it('is approved by the system, not a millisecond earlier (Document 2, States and transitions: Pending, system at end of the pending period; decisions T4)', async () => {
    const id = await reported();
    pass(14 * DAY - 1);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending']);
    pass(1);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
    const end = new Date(AT + 14 * DAY).toISOString();
    expect(await last(id)).toMatchObject({
      at: end,
      autoApproveDate: end,
      pendingStatusDateChanged: end,
      deniedReasonId: 3,
    });
  });

  it('is denied by the system if the event is defined so (Document 2, States and transitions: Pending, denial; decisions T4)', async () => {
    await program({ events: shop!.events!.map((event) => ({ ...event, autoDeny: true })) });
    const id = await reported();
    pass(14 * DAY);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending', 'Deleted']);
    const end = new Date(AT + 14 * DAY).toISOString();
    expect(await last(id)).toMatchObject({ autoDenyDate: end, deniedReasonId: 4 });
  });

  it('is that of the event as it was defined when the transaction became Pending (decisions T4)', async () => {
    const id = await reported();
    await program({ events: shop!.events!.map((event) => ({ ...event, pendingDays: 1, autoDeny: true })) });
    pass(14 * DAY - 1);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending']);
    await program({ events: [] });
    pass(1);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
  });

  it('comes in a paused or closed program too (decisions T4)', async () => {
    const [one, other] = [await reported(), await reported()];
    await program({ status: 'paused' });
    pass(14 * DAY);
    await automate();
    expect(await journey(one)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
    await program({ status: 'closed' });
    await automate();
    expect(await journey(other)).toHaveLength(3);
  });

  it('keeps what was amended, and comes only if nobody has decided before (Document 2, States and transitions)', async () => {
    const { log } = app.engines;
    const [amended, denied] = [await reported(), await reported()];
    const at = new Date(wall).toISOString();
    await execute(log, transactionDecider, amended, { do: 'amend', at, amendments: { orderValue: 5 } });
    await execute(log, transactionDecider, denied, { do: 'deny', at, reason: 14 });
    pass(14 * DAY);
    await automate();
    expect(await last(amended)).toMatchObject({ deniedReasonId: 3, transaction: { orderValue: 5 } });
    expect(await last(denied)).toMatchObject({ deniedReasonId: 14 });
  });

  it('is found for more transactions than a query returns, each moved once (decisions T4)', async () => {
    const ids = await Promise.all(Array.from({ length: cases(2_100, 1_100) }, () => reported()));
    pass(14 * DAY);
    await automate();
    await automate();
    const journeys = new Set((await Promise.all(ids.map(journey))).map(String));
    expect([...journeys]).toEqual(['Tracked,BecamePending,PendingApproved']);
  });
});

describe('Transactions of a paused program', () => {
  /** Reported while the program is paused. */
  async function paused(order: Partial<TransactionFacts> = {}): Promise<string> {
    await program({ status: 'paused' });
    const id = await reported(order);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused']);
    pass(DAY);
    return id;
  }

  it('become Pending when it is activated, for the whole period from then (Document 2, States and transitions: Paused, program unpaused; decisions T4)', async () => {
    const id = await paused();
    await program({ status: 'active' });
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
    expect(await last(id)).toMatchObject({ autoApproveDate: new Date(AT + 15 * DAY).toISOString() });
    pass(14 * DAY);
    await automate();
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('are approved when it is activated and the event has no pending period (Document 2, States and transitions: Paused, program unpaused)', async () => {
    const id = await paused({ eventId: 312, eventTypeId: 4 });
    await program({ status: 'active' });
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused', 'TrackedApproved']);
  });

  it.each<[string, () => Promise<void>]>([
    [
      'the site was disconnected',
      () =>
        app.import(
          {
            ...network,
            connections: network.connections.filter(({ siteId }) => siteId !== 52),
            programs: network.programs.map((one) => ({ ...one, status: 'active' })),
          },
          { prune: true },
        ),
    ],
    ['the event was removed', () => program({ status: 'active', events: [] })],
    [
      'the program was removed',
      () =>
        app.import(
          {
            ...network,
            programs: network.programs.slice(1),
            connections: network.connections.filter(({ programId }) => programId !== 31),
            feeds: [],
            mappings: [],
          },
          { prune: true },
        ),
    ],
  ])(
    'are Invalid when it is activated if %s (Document 2, States and transitions: Paused, validation fails; decisions T3, T4)',
    async (_, change) => {
      const id = await paused();
      await change();
      await automate();
      expect(await journey(id)).toEqual(['Tracked', 'Paused', 'Invalidated']);
    },
  );

  it('are Paused_Deleted when it is closed without payment of invoices (Document 2, States and transitions: Paused, program closed; decisions T4)', async () => {
    const id = await paused();
    await program({ status: 'closed' });
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused', 'PausedDeleted']);
  });

  it('are validated when it is closed and its invoices were paid (Document 2, States and transitions: Paused, program closed; decisions T4)', async () => {
    const id = await paused();
    await program({ status: 'closed', invoicesPaid: true });
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
  });

  it('stay Paused while it is, and those of other programs do not (decisions T4)', async () => {
    const id = await paused();
    await program({ status: 'active' });
    await program({ status: 'paused' });
    const other = await reported({ programId: 41, eventId: 311, advertiserId: 4 });
    await app.import({ programs: [{ ...network.programs[2], status: 'active' }] });
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused']);
    expect((await journey(other)).at(-1)).toBe('Invalidated');
  });

  it('are validated if their report is appended after the program was activated (decisions T4)', async () => {
    await program({ status: 'paused' });
    const { log } = app.engines;
    let release = (): void => undefined;
    const isActivated = new Promise<void>((resolve) => (release = resolve));
    const slow = overrideLog(log, {
      append: async (...args) => {
        await isActivated;
        return await log.append(...args);
      },
    });
    const reporting = report(slow, app.follower.directory, new Date(wall), sale());
    await program({ status: 'active' });
    await automate();
    release();
    const id = await reporting;
    expect(await journey(id)).toEqual(['Tracked', 'Paused']);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
  });

  it('stay Paused if the process has yet to learn that the program was paused (decisions T4)', async () => {
    const ending = new AbortController();
    const late = gated(app.engines.log);
    const follower = new FollowedDirectory(late.log, ending.signal, 50);
    await follower.ready;
    late.close();
    const id = await paused();
    await runner.stop();
    const other = newRunner({ follower });
    await expect(automate(other)).rejects.toThrow('the directory is behind the log');
    late.open();
    await follower.reached(await app.engines.log.head());
    await automate(other);
    expect(await journey(id)).toEqual(['Tracked', 'Paused']);
    ending.abort();
    await follower.ended;
  });
});

/** A log whose subscriptions deliver nothing while it is closed. */
function gated(log: EventLog): { readonly log: EventLog; close(): void; open(): void } {
  let opened = Promise.resolve();
  let open = (): void => undefined;
  async function* subscribe(...args: Parameters<EventLog['subscribe']>): AsyncGenerator<EventBatch> {
    for await (const batch of log.subscribe(...args)) {
      await opened;
      yield batch;
    }
  }
  return {
    log: overrideLog(log, { subscribe }),
    close: () => {
      opened = new Promise((resolve) => (open = resolve));
    },
    open: () => open(),
  };
}

describe('Of several processes', () => {
  it('one acts, and another takes over when its lease of ten seconds has expired (decisions T4)', async () => {
    const other = newRunner();
    await automate();
    const id = await reported();
    pass(14 * DAY);
    await automate();
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
    const next = await reported();
    pass(14 * DAY - 9_999);
    await automate();
    pass(9_999);
    await automate(other);
    expect((await journey(next)).at(-1)).toBe('BecamePending');
    pass(1);
    await automate(other);
    expect((await journey(next)).at(-1)).toBe('PendingApproved');
  });

  it('two that both believe to have the lease move each transaction once (decisions T4)', async () => {
    const owner = randomUUID();
    const both = [newRunner({ owner }), newRunner({ owner })];
    const ids = await Promise.all(Array.from({ length: 300 }, () => reported()));
    await program({ status: 'paused' });
    ids.push(...(await Promise.all(Array.from({ length: 300 }, () => reported()))));
    await program({ status: 'active' });
    pass(14 * DAY);
    await Promise.all(both.map(automate));
    const journeys = new Set((await Promise.all(ids.map(journey))).map(String));
    expect([...journeys].sort()).toEqual([
      'Tracked,BecamePending,PendingApproved',
      'Tracked,Paused,BecamePending',
    ]);
  });
});

describe('A clock', () => {
  it('that jumps a day ahead and is set right within ten minutes has done nothing (decisions T4)', async () => {
    const id = await reported();
    pass(13.5 * DAY);
    await automate();
    wall += DAY;
    await automate();
    pass(10 * MINUTE - 1);
    await automate();
    wall -= DAY;
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending']);
    expect(reports).toEqual([
      expect.stringContaining('jumped ahead by 86400 s: automatic transitions are suspended for ten minutes'),
      'the system clock was set right: automatic transitions continue',
    ]);
    pass(DAY);
    await automate();
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that is not set right counts after ten minutes (decisions T4)', async () => {
    const id = await reported();
    pass(13.5 * DAY);
    await automate();
    wall += DAY;
    await automate();
    pass(10 * MINUTE);
    await automate();
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that is not trusted leaves the work to a process whose clock is (decisions T4)', async () => {
    const id = await reported();
    pass(14 * DAY);
    await app.settled();
    const right = newRunner();
    await runner.turn(transactionAutomations[1]!);
    wall += DAY;
    await automate();
    wall -= DAY;
    await automate(right);
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that jumps back delays the end of a period until the clock reaches it (decisions T4)', async () => {
    const id = await reported();
    pass(14 * DAY - MINUTE);
    await automate();
    wall -= DAY;
    pass(MINUTE);
    await automate();
    expect(await journey(id)).toEqual(['Tracked', 'BecamePending']);
    pass(DAY);
    await automate();
    expect((await journey(id)).at(-1)).toBe('PendingApproved');
  });
});
