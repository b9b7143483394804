import { type Notifier } from '../../delivery/notifier';
import { presenceIn } from '../../engines/data-folder';
import { type Engines, joinEngines } from '../../engines/open';
import { allowedBy, ownerOf, secretsOf } from '../../operations/installation';
import { type Remote } from '../../runtime/calls';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { type Served } from '../../runtime/thread';
import { type Config } from '../../settings/config';
import { startOver, type Ticketed } from '../start-thread';
import { runningCode } from '../../projector/parked';

interface NotifierData extends Ticketed {
  readonly config: Config;
}

export async function run({ ticket, config }: NotifierData, report: Report): Promise<Served> {
  const { Notifier } = await import('../../delivery/notifier.js');
  const { Sender } = await import('../../delivery/sending/sender.js');
  const { TOPICS } = await import('../../domain/topics.js');
  const engines = await joinEngines(ticket);
  const secrets = await secretsOf(config);
  const { log } = engines;
  const presence = presenceIn(config.dataDir);
  const { notifyKeep: keepMs, notifyRates } = config;
  const notifier = new Notifier(
    {
      clock: SYSTEM_CLOCK,
      log,
      leases: engines.leases,
      deliveries: await engines.deliveries(),
      topics: Object.values(TOPICS),
      secrets,
      owner: await ownerOf(config, secrets),
      newSender: () => new Sender({ clock: SYSTEM_CLOCK, allowed: allowedBy(config) }),
      keepMs,
      ...(notifyRates === undefined ? {} : { rates: notifyRates }),
    },
    { name: presence.name, code: await runningCode(), isGone: (owner) => presence.isGone(owner), report },
  );
  return { calls: notifier, close: [() => notifier.stop(), () => presence.close(), () => engines.close()] };
}

/**
 * Enough for its caches and a million messages that are due; without limits, it uses far more before it collects
 * garbage. A young generation of 96 MB sends a little faster, and takes 40 MB more of a process with all roles.
 */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 48 } as const;

/** Sends notifications, in another thread. */
export type Notifying = Pick<Remote<Notifier>, 'start' | 'trouble' | 'receivers' | 'stop'>;

/** Sends notifications in a thread; needs compiled code. `report` receives failures after which it continues. */
export function startNotifier(engines: Engines, config: Config, report: Report): Notifying {
  const { calls, end } = startOver<Notifier>(engines, 'notifier', {
    methods: ['start', 'trouble', 'receivers'],
    data: { config },
    report,
    resourceLimits: MEMORY,
    onRestart: ({ start }) => start(),
  });
  return { ...calls, stop: end };
}
