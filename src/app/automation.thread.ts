import { randomUUID } from 'node:crypto';
import { AutomationRunner } from '../processes/runner';
import { type EngineTicket } from '../engines/open';
import { automationsOver } from '../processes/automations';
import { joinBase } from './open-base';
import { serveThread } from '../runtime/thread';

/** Runs the automations away from the thread that serves HTTP. */
serveThread(async ({ ticket }: { readonly ticket: EngineTicket }, report) => {
  const base = await joinBase(ticket);
  const { log, store, leases } = base.engines;
  const parts = { log, store, leases, follower: base.follower };
  const runner = new AutomationRunner(parts, automationsOver(store), {
    owner: randomUUID(),
    report,
  });
  return {
    calls: runner,
    close: async () => {
      await runner.stop();
      await base.close();
    },
  };
});
