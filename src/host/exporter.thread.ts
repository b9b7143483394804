import { workerData } from 'node:worker_threads';
import { followDirectory } from '../directory/follower';
import { joinEngines } from '../engines/open';
import { serveCalls } from '../kernel/calls';
import { Exporter } from '../products/download/exporter';
import { type ProductExporter } from '../products/download/rendered-feed';
import { type ExporterThreadData } from './exporter';

/** Renders downloads away from the thread that serves HTTP. Answers the calls of an `Exporter`; `end` ends the thread. */
async function main({ ticket, port }: ExporterThreadData): Promise<void> {
  const engines = await joinEngines(ticket);
  const ending = new AbortController();
  const follower = followDirectory(engines.log, ending.signal);
  const exporter = new Exporter(engines.store, follower);
  const thread: ProductExporter = {
    render: (request, path, report, signal) => exporter.render(request, path, report, signal),
    async end() {
      await exporter.end();
      ending.abort();
      await follower.ended;
      await engines.close();
      setImmediate(() => port.close());
    },
  };
  serveCalls(port, thread);
}

void main(workerData as ExporterThreadData);
