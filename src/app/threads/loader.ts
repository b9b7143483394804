import { type Engines } from '../../engines/open';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { type Served } from '../../runtime/thread';
import { type ProductLoader } from '../../services/products/load/load-feed';
import { feedLeases } from '../../services/products/load/fingerprint-cache';
import { type Loader, makeLoader } from '../../services/products/load/loader';
import { joinBase } from '../opened';
import { startOver, type Ticketed } from '../start-thread';
import { validatorThreads } from './validator';

interface LoaderData extends Ticketed {
  readonly dataDir: string;
}

export async function run({ ticket, dataDir }: LoaderData, report: Report): Promise<Served> {
  const base = await joinBase(ticket);
  // A log in a file is rarely shared between processes: after a crash no load should wait for a lease to expire.
  const feedLock =
    ticket.settings.eventLog === 'sqlite:' ? undefined : feedLeases(SYSTEM_CLOCK, base.engines.leases);
  const validators = validatorThreads(report);
  const loader = makeLoader(SYSTEM_CLOCK, base.engines.log, base.follower, dataDir, {
    feedLock,
    validate: validators.validate,
  });
  return { calls: loader, close: [() => loader.close(), () => validators.close(), () => base.close()] };
}

/** A loader in a thread of its own; needs compiled code. */
export function startLoader(engines: Engines, dataDir: string, report: Report): ProductLoader {
  const { calls, end } = startOver<Loader>(engines, 'loader', {
    methods: ['open', 'write', 'finish', 'abort', 'remove'],
    data: { dataDir },
    report,
  });
  return { ...calls, close: end };
}
