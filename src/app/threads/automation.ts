import { type Engines } from '../../engines/open';
import { type AutomationRunner } from '../../processes/automation-runner';
import { type Remote } from '../../runtime/calls';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { type Served } from '../../runtime/thread';
import { type Config } from '../../settings/config';
import { joinBase } from '../opened';
import { startOver, type Ticketed } from '../start-thread';

interface AutomationData extends Ticketed {
  readonly trackerUrl: string;
}

export async function run({ ticket, trackerUrl }: AutomationData, report: Report): Promise<Served> {
  const { AutomationRunner } = await import('../../processes/automation-runner.js');
  const { automationsOver } = await import('../../processes/automations.js');
  const clock = SYSTEM_CLOCK;
  const base = await joinBase(ticket);
  const { log, store, leases } = base.engines;
  const parts = { log, store, leases, follower: base.follower };
  const runner = new AutomationRunner(parts, automationsOver(clock, store, trackerUrl), {
    clock,
    owner: clock.uuid(),
    report,
  });
  return { calls: runner, close: [() => runner.stop(), () => base.close()] };
}

/** Runs all automations in a thread; needs compiled code. `report` receives failures after which it continues. */
export function startAutomations(
  engines: Engines,
  { trackerUrl }: Pick<Config, 'trackerUrl'>,
  report: Report,
): Pick<Remote<AutomationRunner>, 'start' | 'trouble' | 'stop'> {
  const { calls, end } = startOver<AutomationRunner>(engines, 'automation', {
    methods: ['start', 'trouble'],
    data: { trackerUrl },
    report,
    onRestart: ({ start }) => start(),
  });
  return { ...calls, stop: end };
}
