import { randomUUID } from 'node:crypto';
import { execute } from '../../src/kernel/decider';
import { transactionDecider } from '../../src/domain/transactions/transaction';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { cases } from '../support/size';
import { FollowedDirectory } from '../../src/network/follower';
import { type EventBatch, type EventLog } from '../../src/kernel/event-log';
import { type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { overrideLog } from '../support/temporary-log';
import { report, sale } from '../support/transactions';
import { transactionAutomations } from '../../src/processes/automations';
import { AutomatedApp, DAY, MINUTE, NETWORK } from './automated-app';

let world: AutomatedApp;
beforeAll(async () => {
  world = await AutomatedApp.start();
});
beforeEach(() => world.begin());
afterAll(() => world.close());

const EVENTS = NETWORK.programs[0]?.events ?? [];

describe('The end of a pending period', () => {
  it('is approved by the system, not a millisecond earlier (Document 2, States and transitions: Pending, system at end of the pending period; decisions T4)', async () => {
    const id = await world.reported();
    world.pass(14 * DAY - 1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending']);
    world.pass(1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
    const end = new Date(world.began + 14 * DAY).toISOString();
    expect(await world.last(id)).toMatchObject({
      at: end,
      autoApproveDate: end,
      pendingStatusDateChanged: end,
      deniedReasonId: 3,
    });
  });

  it('is denied by the system if the event is defined so (Document 2, States and transitions: Pending, denial; decisions T4)', async () => {
    await world.program({ events: EVENTS.map((event) => ({ ...event, autoDeny: true })) });
    const id = await world.reported();
    world.pass(14 * DAY);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending', 'Deleted']);
    const end = new Date(world.began + 14 * DAY).toISOString();
    expect(await world.last(id)).toMatchObject({ autoDenyDate: end, deniedReasonId: 4 });
  });

  it('is that of the event as it was defined when the transaction became Pending (decisions T4)', async () => {
    const id = await world.reported();
    await world.program({ events: EVENTS.map((event) => ({ ...event, pendingDays: 1, autoDeny: true })) });
    world.pass(14 * DAY - 1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending']);
    await world.program({ events: [] });
    world.pass(1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
  });

  it('comes in a paused or closed program too (decisions T4)', async () => {
    const [one, other] = [await world.reported(), await world.reported()];
    await world.program({ status: 'paused' });
    world.pass(14 * DAY);
    await world.automate();
    expect(await world.journey(one)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
    await world.program({ status: 'closed' });
    await world.automate();
    expect(await world.journey(other)).toHaveLength(3);
  });

  it('keeps what was amended, and comes only if nobody has decided before (Document 2, States and transitions)', async () => {
    const { log } = world.app.engines;
    const [amended, denied] = [await world.reported(), await world.reported()];
    const at = new Date(world.wall).toISOString();
    await execute(SYSTEM_CLOCK, log, transactionDecider, amended, {
      do: 'amend',
      at,
      amendments: { orderValue: 5 },
    });
    await execute(SYSTEM_CLOCK, log, transactionDecider, denied, { do: 'deny', at, reason: 14 });
    world.pass(14 * DAY);
    await world.automate();
    expect(await world.last(amended)).toMatchObject({ deniedReasonId: 3, transaction: { orderValue: 5 } });
    expect(await world.last(denied)).toMatchObject({ deniedReasonId: 14 });
  });

  it('is found for more transactions than a query returns, each moved once (decisions T4)', async () => {
    const ids = await Promise.all(Array.from({ length: cases(2_100, 1_100) }, () => world.reported()));
    world.pass(14 * DAY);
    await world.automate();
    await world.automate();
    const journeys = new Set((await Promise.all(ids.map((id) => world.journey(id)))).map(String));
    expect([...journeys]).toEqual(['Tracked,BecamePending,PendingApproved']);
  });
});

describe('Transactions of a paused program', () => {
  /** Reported while the program is paused. */
  async function paused(order: Partial<TransactionFacts> = {}): Promise<string> {
    await world.program({ status: 'paused' });
    const id = await world.reported(order);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused']);
    world.pass(DAY);
    return id;
  }

  it('become Pending when it is activated, for the whole period from then (Document 2, States and transitions: Paused, program unpaused; decisions T4)', async () => {
    const id = await paused();
    await world.program({ status: 'active' });
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
    expect(await world.last(id)).toMatchObject({
      autoApproveDate: new Date(world.began + 15 * DAY).toISOString(),
    });
    world.pass(14 * DAY);
    await world.automate();
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('are approved when it is activated and the event has no pending period (Document 2, States and transitions: Paused, program unpaused)', async () => {
    const id = await paused({ eventId: 312, eventTypeId: 4 });
    await world.program({ status: 'active' });
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'TrackedApproved']);
  });

  it.each<[string, () => Promise<void>]>([
    [
      'the site was disconnected',
      () =>
        world.app.import(
          {
            ...NETWORK,
            connections: NETWORK.connections.filter(({ siteId }) => siteId !== 52),
            programs: NETWORK.programs.map((one) => ({ ...one, status: 'active' })),
          },
          { prune: true },
        ),
    ],
    ['the event was removed', () => world.program({ status: 'active', events: [] })],
    [
      'the program was removed',
      () =>
        world.app.import(
          {
            ...NETWORK,
            programs: NETWORK.programs.slice(1),
            connections: NETWORK.connections.filter(({ programId }) => programId !== 31),
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
      await world.automate();
      expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'Invalidated']);
    },
  );

  it('are Paused_Deleted when it is closed without payment of invoices (Document 2, States and transitions: Paused, program closed; decisions T4)', async () => {
    const id = await paused();
    await world.program({ status: 'closed' });
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'PausedDeleted']);
  });

  it('are validated when it is closed and its invoices were paid (Document 2, States and transitions: Paused, program closed; decisions T4)', async () => {
    const id = await paused();
    await world.program({ status: 'closed', invoicesPaid: true });
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
  });

  it('stay Paused while it is, and those of other programs do not (decisions T4)', async () => {
    const id = await paused();
    await world.program({ status: 'active' });
    await world.program({ status: 'paused' });
    const other = await world.reported({ programId: 41, eventId: 311, advertiserId: 4 });
    await world.app.import({ programs: [{ ...NETWORK.programs[2], status: 'active' }] });
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused']);
    expect((await world.journey(other)).at(-1)).toBe('Invalidated');
  });

  it('are validated if their report is appended after the program was activated (decisions T4)', async () => {
    await world.program({ status: 'paused' });
    const { log } = world.app.engines;
    let release = (): void => undefined;
    const isActivated = new Promise<void>((resolve) => (release = resolve));
    const slow = overrideLog(log, {
      append: async (...args) => {
        await isActivated;
        return await log.append(...args);
      },
    });
    const reporting = report(slow, world.app.follower.directory, new Date(world.wall), sale());
    await world.program({ status: 'active' });
    await world.automate();
    release();
    const id = await reporting;
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused']);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused', 'BecamePending']);
  });

  it('stay Paused if the process has yet to learn that the program was paused (decisions T4)', async () => {
    const ending = new AbortController();
    const late = gated(world.app.engines.log);
    const follower = new FollowedDirectory(SYSTEM_CLOCK, late.log, ending.signal, 50);
    await follower.ready;
    late.close();
    const id = await paused();
    await world.runner.stop();
    const other = world.newRunner({ follower });
    await expect(world.automate(other)).rejects.toThrow('the directory is behind the log');
    late.open();
    await follower.reached(await world.app.engines.log.head());
    await world.automate(other);
    expect(await world.journey(id)).toEqual(['Tracked', 'Paused']);
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
    const other = world.newRunner();
    await world.automate();
    const id = await world.reported();
    world.pass(14 * DAY);
    await world.automate();
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
    const next = await world.reported();
    world.pass(14 * DAY - 9_999);
    await world.automate();
    world.pass(9_999);
    await world.automate(other);
    expect((await world.journey(next)).at(-1)).toBe('BecamePending');
    world.pass(1);
    await world.automate(other);
    expect((await world.journey(next)).at(-1)).toBe('PendingApproved');
  });

  it('two that both believe to have the lease move each transaction once (decisions T4)', async () => {
    const owner = randomUUID();
    const both = [world.newRunner({ owner }), world.newRunner({ owner })];
    const ids = await Promise.all(Array.from({ length: 300 }, () => world.reported()));
    await world.program({ status: 'paused' });
    ids.push(...(await Promise.all(Array.from({ length: 300 }, () => world.reported()))));
    await world.program({ status: 'active' });
    world.pass(14 * DAY);
    await Promise.all(both.map((one) => world.automate(one)));
    const journeys = new Set((await Promise.all(ids.map((id) => world.journey(id)))).map(String));
    expect([...journeys].sort()).toEqual([
      'Tracked,BecamePending,PendingApproved',
      'Tracked,Paused,BecamePending',
    ]);
  });
});

describe('A clock', () => {
  it('that jumps a day ahead and is set right within ten minutes has done nothing (decisions T4)', async () => {
    const id = await world.reported();
    world.pass(13.5 * DAY);
    await world.automate();
    world.wall += DAY;
    await world.automate();
    world.pass(10 * MINUTE - 1);
    await world.automate();
    world.wall -= DAY;
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending']);
    expect(world.reports).toEqual([
      expect.stringContaining('jumped ahead by 86400 s: automatic transitions are suspended for ten minutes'),
      'the system clock was set right: automatic transitions continue',
    ]);
    world.pass(DAY);
    await world.automate();
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that is not set right counts after ten minutes (decisions T4)', async () => {
    const id = await world.reported();
    world.pass(13.5 * DAY);
    await world.automate();
    world.wall += DAY;
    await world.automate();
    world.pass(10 * MINUTE);
    await world.automate();
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that is not trusted leaves the work to a process whose clock is (decisions T4)', async () => {
    const id = await world.reported();
    world.pass(14 * DAY);
    await world.app.settled();
    const right = world.newRunner();
    await world.runner.turn(transactionAutomations[1]!);
    world.wall += DAY;
    await world.automate();
    world.wall -= DAY;
    await world.automate(right);
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
  });

  it('that jumps back delays the end of a period until the clock reaches it (decisions T4)', async () => {
    const id = await world.reported();
    world.pass(14 * DAY - MINUTE);
    await world.automate();
    world.wall -= DAY;
    world.pass(MINUTE);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending']);
    world.pass(DAY);
    await world.automate();
    expect((await world.journey(id)).at(-1)).toBe('PendingApproved');
  });
});
