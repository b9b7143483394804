import { randomUUID } from 'node:crypto';
import { PROJECTIONS } from '../../projections/index';
import { type EngineTicket, joinEngines } from '../engines/open';
import { Runner } from '../projector/runner';
import { runningCode } from '../projector/running-code';
import { serveThread } from './thread';

/** Keeps the read models up to date away from the thread that serves HTTP. */
serveThread(async ({ ticket }: { readonly ticket: EngineTicket }, report) => {
  const engines = await joinEngines(ticket, { writes: true });
  const options = { owner: randomUUID(), code: await runningCode(), report };
  const runner = new Runner(engines.log, engines.store, PROJECTIONS, options);
  return {
    calls: runner,
    close: async () => {
      await runner.stop();
      await engines.close();
    },
  };
});
