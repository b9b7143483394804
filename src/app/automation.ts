import { join } from 'node:path';
import { type AutomationRunner } from '../processes/runner';
import { type Engines, type EngineTicket } from '../engines/open';
import { type Remote } from '../runtime/calls';
import { startThread } from '../runtime/thread';

/** Automations, in this thread or another. */
export type Automating = Pick<Remote<AutomationRunner>, 'start' | 'trouble' | 'stop'>;

/** Runs all automations in a thread of their own; needs compiled code. `report` receives failures after which it continues. */
export function startAutomations(engines: Engines, report: (failure: string) => void): Automating {
  const { calls, end } = startThread<AutomationRunner, { readonly ticket: EngineTicket }>({
    file: join(__dirname, 'automation.thread.js'),
    methods: ['start', 'trouble'],
    data: () => ({ ticket: engines.ticket() }),
    report,
    onRestart: ({ start }) => start(),
  });
  return { ...calls, stop: end };
}
