import { type Engines } from '../../engines/open';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { type Served } from '../../runtime/thread';
import { Exporter } from '../../services/products/download/exporter';
import { type ProductExporter } from '../../services/products/download/rendered-feeds';
import { joinBase } from '../opened';
import { startOver, type Ticketed } from '../start-thread';

export async function run({ ticket }: Ticketed): Promise<Served> {
  const base = await joinBase(ticket);
  const exporter = new Exporter(SYSTEM_CLOCK, base.engines.store, base.follower);
  return { calls: exporter, close: [() => exporter.end(), () => base.close()] };
}

/** An exporter in a thread of its own; needs compiled code. */
export function startExporter(engines: Engines, report: Report): ProductExporter {
  const { calls, end } = startOver<Exporter>(engines, 'exporter', {
    methods: ['render'],
    report,
    // Rendered text lives until it is written: a larger young generation avoids promoting it.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
    startsWithCall: true,
  });
  return { ...calls, end };
}
