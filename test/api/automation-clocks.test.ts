import { randomUUID } from 'node:crypto';
import { transactionAutomations } from '../../src/processes/automations';
import { AutomatedApp, DAY, MINUTE } from './automated-app';

let world: AutomatedApp;
beforeEach(async () => {
  world = await AutomatedApp.start();
});
afterEach(() => world.close());

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
