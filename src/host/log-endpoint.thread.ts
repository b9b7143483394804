import { workerData } from 'node:worker_threads';
import { type EsdbEndpoint, joinEngines, serveLog } from '../engines/open';
import { serveCalls } from '../kernel/calls';
import { type LogEndpoint, type LogEndpointData } from './log-endpoint';

const LOOPBACK = '127.0.0.1';

/** Serves the log away from the thread that serves HTTP. Closing it ends the thread. */
async function main({ ticket, tcpPort, port }: LogEndpointData): Promise<void> {
  const engines = await joinEngines(ticket);
  let endpoint: EsdbEndpoint | undefined;
  const thread: LogEndpoint = {
    async open() {
      const report = (error: unknown): void =>
        port.postMessage({ report: error instanceof Error ? error.stack : String(error) });
      endpoint = await serveLog(engines.log, { host: LOOPBACK, port: tcpPort, report });
      return endpoint.url;
    },
    async close() {
      await endpoint?.close();
      await engines.close();
      setImmediate(() => port.close());
    },
  };
  serveCalls(port, thread);
}

void main(workerData as LogEndpointData);
