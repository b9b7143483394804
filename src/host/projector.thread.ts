import { randomUUID } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { PROJECTIONS } from '../../projections/index';
import { Runner } from '../projector/runner';
import { joinEngines } from '../engines/open';
import { serveCalls } from '../kernel/calls';
import { type ProjectorThread, type ProjectorThreadData } from './projector';
import { runningCode } from '../projector/running-code';

/** Keeps the read models up to date away from the thread that serves HTTP. Closing it ends the thread. */
async function main({ ticket, port }: ProjectorThreadData): Promise<void> {
  const engines = await joinEngines(ticket);
  const runner = new Runner(engines.log, engines.store, PROJECTIONS, {
    owner: randomUUID(),
    code: await runningCode(),
    report: (error) => port.postMessage({ report: error instanceof Error ? error.stack : String(error) }),
  });
  const thread: ProjectorThread = {
    start: () => runner.start(),
    status: () => runner.status(),
    trouble: () => runner.trouble(),
    async stop() {
      await runner.stop();
      await engines.close();
      setImmediate(() => port.close());
    },
  };
  serveCalls(port, thread);
}

void main(workerData as ProjectorThreadData);
