import { type Engines, joinEngines } from '../../engines/open';
import { type Rebuilder, type Rebuilding } from '../../operations/projections';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { giveWay, type Served } from '../../runtime/thread';
import { startOver, type Ticketed } from '../start-thread';

export async function run({ ticket }: Ticketed): Promise<Served> {
  const { Rebuilder: Rebuilds } = await import('../../operations/projections.js');
  giveWay();
  const engines = await joinEngines(ticket, { writes: true });
  return { calls: new Rebuilds(engines, SYSTEM_CLOCK), close: [() => engines.close()] };
}

/**
 * Rebuilds, comparisons and builds as of a time in a thread of its own, with a lower priority than
 * requests; needs compiled code.
 */
export function startRebuilder(
  engines: Engines,
  report: Report,
): { readonly rebuilding: Rebuilding; readonly end: () => Promise<void> } {
  const { calls, end } = startOver<Rebuilder>(engines, 'rebuilder', {
    methods: ['buildAsOf', 'rebuild', 'verify'],
    report,
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
    startsWithCall: true,
  });
  return { rebuilding: calls, end };
}
