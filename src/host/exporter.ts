import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type Engines, type EngineTicket } from '../engines/open';
import { callsOver } from '../kernel/calls';
import { type Exporter } from '../products/download/exporter';
import { type ProductExporter } from '../products/download/rendered-feed';

export interface ExporterThreadData {
  readonly ticket: EngineTicket;
  /** Where the calls come in. */
  readonly port: MessagePort;
}

/** An exporter in a thread of its own; needs compiled code. */
export function startExporter(engines: Engines): ProductExporter {
  const ticket = engines.ticket();
  const { port1, port2: port } = new MessageChannel();
  const workerData: ExporterThreadData = { ticket, port };
  const thread = new Worker(join(__dirname, 'exporter.thread.js'), {
    workerData,
    transferList: [port, ...ticket.ports],
    // What is rendered is young for as long as it takes to write it.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  thread.unref();
  return callsOver<Exporter>(port1);
}
