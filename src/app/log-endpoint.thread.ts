import { type EsdbEndpoint, serveEsdb } from '../replay/serve-esdb';
import { joinEngines } from '../engines/open';
import { type LogEndpoint, type LogEndpointData } from './log-endpoint';
import { serveThread } from '../runtime/thread';

const LOOPBACK = '127.0.0.1';

/** Serves the log away from the thread that serves HTTP. */
serveThread(async ({ ticket, tcpPort }: LogEndpointData, report) => {
  const engines = await joinEngines(ticket);
  let endpoint: EsdbEndpoint | undefined;
  const calls: LogEndpoint = {
    async open() {
      endpoint = await serveEsdb(engines.log, { host: LOOPBACK, port: tcpPort, report });
      return endpoint.url;
    },
  };
  return {
    calls,
    close: async () => {
      await endpoint?.close();
      await engines.close();
    },
  };
});
