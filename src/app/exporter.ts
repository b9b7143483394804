import { join } from 'node:path';
import { type Engines, type EngineTicket } from '../engines/open';
import { type Exporter } from '../services/products/download/exporter';
import { type ProductExporter } from '../services/products/download/rendered-feed';
import { type Report } from '../runtime/failure-report';
import { startThread } from '../runtime/thread';

/** An exporter in a thread of its own; needs compiled code. */
export function startExporter(engines: Engines, report: Report): ProductExporter {
  const { calls, end } = startThread<Exporter, { readonly ticket: EngineTicket }>({
    file: join(__dirname, 'exporter.thread.js'),
    methods: ['render'],
    data: () => ({ ticket: engines.ticket() }),
    report,
    // Rendered text lives until it is written: a larger young generation avoids promoting it.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
    startsWithCall: true,
  });
  return { ...calls, end };
}
