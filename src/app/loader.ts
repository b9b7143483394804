import { join } from 'node:path';
import { type Engines, type EngineTicket } from '../engines/open';
import { type ProductLoader } from '../services/products/commands';
import { type Loader } from '../services/products/load/loader';
import { type Report } from '../runtime/failure-report';
import { startThread } from '../runtime/thread';

export interface LoaderThreadData {
  readonly ticket: EngineTicket;
  readonly dataDir: string;
}

/** A loader in a thread of its own; needs compiled code. */
export function startLoader(engines: Engines, dataDir: string, report: Report): ProductLoader {
  const { calls, end } = startThread<Loader, LoaderThreadData>({
    file: join(__dirname, 'loader.thread.js'),
    methods: ['open', 'write', 'finish', 'abort', 'remove'],
    data: () => ({ ticket: engines.ticket(), dataDir }),
    report,
  });
  return { ...calls, close: end };
}
