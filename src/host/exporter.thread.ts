import { workerData } from 'node:worker_threads';
import { followDirectory } from '../directory/follower';
import { joinEngines } from '../engines/open';
import { serveCalls } from '../kernel/calls';
import { type ProductExporter } from '../products/download/rendered-feed';
import { type ExporterThreadData, makeExporter } from './exporter';

/** Renders downloads away from the thread that serves HTTP. Answers the calls of an `Exporter`; `end` ends the thread. */
async function main({ ticket, port }: ExporterThreadData): Promise<void> {
  const engines = await joinEngines(ticket);
  const ending = new AbortController();
  const follower = followDirectory(engines.log, ending.signal);
  const exporter = makeExporter(engines, follower);
  const thread: ProductExporter = {
    open: (request) => exporter.open(request),
    begin: (id, path) => exporter.begin(id, path),
    more: (id) => exporter.more(id),
    close: (id) => exporter.close(id),
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
