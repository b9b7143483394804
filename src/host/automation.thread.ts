import { randomUUID } from 'node:crypto';
import { type Automation } from '../automation/automation';
import { AutomationRunner } from '../automation/runner';
import { type EngineTicket } from '../engines/open';
import { transactionAutomations } from '../transactions/automations';
import { joinBase } from './open-base';
import { serveThread } from './thread';

/** Of all services. */
const AUTOMATIONS: readonly Automation[] = [...transactionAutomations];

/** Runs the automations away from the thread that serves HTTP. */
serveThread(async ({ ticket }: { readonly ticket: EngineTicket }, report) => {
  const base = await joinBase(ticket);
  const { log, store } = base.engines;
  const parts = { log, store, follower: base.follower };
  const runner = new AutomationRunner(parts, AUTOMATIONS, { owner: randomUUID(), report });
  return {
    calls: runner,
    close: async () => {
      await runner.stop();
      await base.close();
    },
  };
});
