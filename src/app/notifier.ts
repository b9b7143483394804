import { join } from 'node:path';
import { type Config } from '../settings/config';
import { type Engines } from '../engines/open';
import { type Remote } from '../runtime/calls';
import { type Notifier } from './notifier-run';
import { type NotifierData } from './notifier.thread';
import { startThread } from '../runtime/thread';

/** Sends notifications, in another thread. */
export type Notifying = Pick<Remote<Notifier>, 'start' | 'trouble' | 'stop'>;

/**
 * Enough for its caches and a million messages that are due; without limits, it uses far more before it collects garbage. A young
 * generation of 96 MB sends a little faster, and takes 40 MB more of a process with all roles.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 48 } as const;

/** Sends notifications in a thread of their own; needs compiled code. `report` receives failures after which it continues. */
export function startNotifier(
  engines: Engines,
  config: Config,
  report: (failure: string) => void,
): Notifying {
  const { calls, end } = startThread<Notifier, NotifierData>({
    file: join(__dirname, 'notifier.thread.js'),
    methods: ['start', 'trouble'],
    data: () => ({ ticket: engines.ticket(), config }),
    report,
    resourceLimits: MEMORY,
    onRestart: ({ start }) => start(),
  });
  return { ...calls, stop: end };
}
