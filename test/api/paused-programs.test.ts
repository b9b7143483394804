import { FollowedDirectory } from '../../src/network/follower';
import { type EventBatch, type EventLog } from '../../src/kernel/event-log';
import { type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { report, sale } from '../support/transactions';
import { AT, AutomatedApp, DAY, NETWORK } from './automated-app';

let world: AutomatedApp;
beforeEach(async () => {
  world = await AutomatedApp.start();
});
afterEach(() => world.close());

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
    expect(await world.last(id)).toMatchObject({ autoApproveDate: new Date(AT + 15 * DAY).toISOString() });
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
