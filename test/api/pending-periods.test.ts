import { execute } from '../../src/kernel/decider';
import { transactionDecider } from '../../src/domain/transactions/transaction';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { cases } from '../support/size';
import { AT, AutomatedApp, DAY, NETWORK } from './automated-app';

const EVENTS = NETWORK.programs[0]?.events ?? [];

let world: AutomatedApp;
beforeEach(async () => {
  world = await AutomatedApp.start();
});
afterEach(() => world.close());

describe('The end of a pending period', () => {
  it('is approved by the system, not a millisecond earlier (Document 2, States and transitions: Pending, system at end of the pending period; decisions T4)', async () => {
    const id = await world.reported();
    world.pass(14 * DAY - 1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending']);
    world.pass(1);
    await world.automate();
    expect(await world.journey(id)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
    const end = new Date(AT + 14 * DAY).toISOString();
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
    const end = new Date(AT + 14 * DAY).toISOString();
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
