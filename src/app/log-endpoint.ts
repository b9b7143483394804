import { join } from 'node:path';
import { type Engines, type EngineTicket } from '../engines/open';
import { type Report } from '../runtime/failure-report';
import { startThread, type Thread } from '../runtime/thread';

export interface LogEndpointData {
  readonly ticket: EngineTicket;
  /** TCP port of this machine; 0 for any free one. */
  readonly tcpPort: number;
}

export interface LogEndpoint {
  /** Starts listening; the URL that clients of EventStoreDB connect to. */
  open(): Promise<string>;
}

/**
 * Serves the log read-only to any client of EventStoreDB on this machine, for analysts. In a thread of its own, since
 * replaying a log is work. Needs compiled code.
 */
export function startLogEndpoint(engines: Engines, tcpPort: number, report: Report): Thread<LogEndpoint> {
  return startThread<LogEndpoint, LogEndpointData>({
    file: join(__dirname, 'log-endpoint.thread.js'),
    methods: ['open'],
    data: () => ({ ticket: engines.ticket(), tcpPort }),
    report,
    onRestart: ({ open }) => open(),
  });
}
