import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type ProjectionStatus } from '../projector/runner';
import { type Engines, type EngineTicket } from '../engines/open';
import { callsOver, type Remote } from '../kernel/calls';

export interface ProjectorThreadData {
  readonly ticket: EngineTicket;
  /** Where the calls come in. */
  readonly port: MessagePort;
}

/** A projector, in this thread or another. */
export interface ProjectorThread {
  /** Begins; settles when every read model can be read. */
  start(): Promise<void>;
  status(): Promise<readonly ProjectionStatus[]>;
  /** As `Runner.trouble`. */
  trouble(): string | undefined;
  /** Finishes the batch at hand. */
  stop(): Promise<void>;
}

/** A projector in a thread of its own; needs compiled code. `report` is told of every failure that it goes on after. */
export function startProjector(engines: Engines, report: (failure: string) => void): Remote<ProjectorThread> {
  const ticket = engines.ticket();
  const { port1, port2: port } = new MessageChannel();
  const workerData: ProjectorThreadData = { ticket, port };
  const thread = new Worker(join(__dirname, 'projector.thread.js'), {
    workerData,
    transferList: [port, ...ticket.ports],
    // A batch of documents is young for as long as it takes to write it.
    resourceLimits: { maxYoungGenerationSizeMb: 96 },
  });
  thread.unref();
  port1.on('message', (message: { readonly report?: string }) => {
    if (message.report !== undefined) report(message.report);
  });
  return callsOver<ProjectorThread>(port1);
}
