import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type Engines, type EngineTicket } from '../engines/open';
import { callsOver, type Remote } from '../kernel/calls';

export interface LogEndpointData {
  readonly ticket: EngineTicket;
  /** TCP port of this machine; 0 for any that is free. */
  readonly tcpPort: number;
  /** Where the calls come in. */
  readonly port: MessagePort;
}

export interface LogEndpoint {
  /** Begins; the URL that clients of EventStoreDB connect to. */
  open(): Promise<string>;
  /** Ends all calls. */
  close(): Promise<void>;
}

/**
 * Offers the log to analysts, for reading, to programs of this machine alone: with any client of EventStoreDB. In a
 * thread of its own, since replaying a log is work. `report` is told of bugs. Needs compiled code.
 */
export function startLogEndpoint(
  engines: Engines,
  tcpPort: number,
  report: (failure: string) => void,
): Remote<LogEndpoint> {
  const ticket = engines.ticket();
  const { port1, port2: port } = new MessageChannel();
  const workerData: LogEndpointData = { ticket, tcpPort, port };
  const thread = new Worker(join(__dirname, 'log-endpoint.thread.js'), {
    workerData,
    transferList: [port, ...ticket.ports],
  });
  thread.unref();
  port1.on('message', (message: { readonly report?: string }) => {
    if (message.report !== undefined) report(message.report);
  });
  return callsOver<LogEndpoint>(port1);
}
