import { type Engines, type EngineTicket, joinEngines } from '../../engines/open';
import { type Report } from '../../runtime/failure-report';
import { type Served, type Thread } from '../../runtime/thread';
import { startRole } from '../role';

interface LogEndpointData {
  readonly ticket: EngineTicket;
  /** TCP port of this machine; 0 for any free one. */
  readonly tcpPort: number;
}

interface LogEndpoint {
  /** Starts listening; the URL that clients of EventStoreDB connect to. */
  open(): Promise<string>;
}

const LOOPBACK = '127.0.0.1';

/** Serves the log away from the thread that serves HTTP. */
export async function run({ ticket, tcpPort }: LogEndpointData, report: Report): Promise<Served> {
  const { serveEsdb } = await import('../../replay/serve-esdb.js');
  const engines = await joinEngines(ticket);
  let close = async (): Promise<void> => undefined;
  const calls: LogEndpoint = {
    async open() {
      const endpoint = await serveEsdb(engines.log, { host: LOOPBACK, port: tcpPort, report });
      close = () => endpoint.close();
      return endpoint.url;
    },
  };
  return {
    calls,
    close: async () => {
      await close();
      await engines.close();
    },
  };
}

/**
 * Serves the log read-only to any client of EventStoreDB on this machine, for analysts. In a thread of its own, since
 * replaying a log is work. Needs compiled code.
 */
export function startLogEndpoint(engines: Engines, tcpPort: number, report: Report): Thread<LogEndpoint> {
  return startRole<LogEndpoint, LogEndpointData>('log-endpoint', {
    methods: ['open'],
    data: () => ({ ticket: engines.ticket(), tcpPort }),
    report,
    onRestart: ({ open }) => open(),
  });
}
