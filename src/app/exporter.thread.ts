import { type EngineTicket } from '../engines/open';
import { Exporter } from '../services/products/download/exporter';
import { joinBase } from './open-base';
import { serveThread } from '../runtime/thread';

/** Renders downloads away from the thread that serves HTTP. */
serveThread(async ({ ticket }: { readonly ticket: EngineTicket }) => {
  const base = await joinBase(ticket);
  const exporter = new Exporter(base.engines.store, base.follower);
  return {
    calls: exporter,
    close: async () => {
      await exporter.end();
      await base.close();
    },
  };
});
