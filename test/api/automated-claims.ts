import { AutomationRunner } from '../../src/processes/automation-runner';
import { claimDecider, type ClaimEvent, type FiledClaim } from '../../src/domain/claims/claim';
import { automationsOver } from '../../src/processes/automations';
import { load, toDomainEvent } from '../../src/kernel/decider';
import { type EventLog } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type TestApp } from '../support/app';
import { TestClock } from '../support/clock';

/** What the system does with the claims of an application, and what becomes of them. */
export function automatedClaims(world: { readonly app: TestApp }) {
  const runners: AutomationRunner[] = [];
  afterEach(async () => {
    for (const runner of runners.splice(0)) await runner.stop();
  });
  return {
    /**
     * Does everything that is due at a time, in a process of its own; its appends go to `through`, transactions are
     * read from `read`.
     */
    automate: async (at: number, through?: EventLog, read?: ReadStore): Promise<void> => {
      const { log, store, leases } = world.app.engines;
      const parts = { log: through ?? log, store, leases, follower: world.app.follower };
      const automations = automationsOver(SYSTEM_CLOCK, read ?? store);
      const runner = new AutomationRunner(parts, automations, {
        owner: 'automations',
        clock: new TestClock(
          () => at,
          () => at,
        ),
        report: () => undefined,
      });
      runners.push(runner);
      await world.app.settled();
      for (const automation of automations) while (await runner.turn(automation));
      await world.app.settled();
    },
    stateOf: async (claimId: number): Promise<FiledClaim> => {
      const { state } = await load(world.app.engines.log, claimDecider, claimId);
      if (state.is !== 'filed') throw new Error(`claim ${claimId} is ${state.is}`);
      return state;
    },
    eventsOf: async (claimId: number): Promise<readonly ClaimEvent[]> => {
      const events: ClaimEvent[] = [];
      for await (const batch of world.app.engines.log.readStream(`claim-${claimId}`))
        events.push(...batch.map((recorded) => toDomainEvent(recorded) as ClaimEvent));
      return events;
    },
  };
}
