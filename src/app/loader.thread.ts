import { feedLeases } from '../services/products/load/feed-leases';
import { type LoaderThreadData } from './loader';
import { makeLoader } from '../services/products/load/make-loader';
import { joinBase } from './open-base';
import { serveThread } from '../runtime/thread';
import { validatorThreads } from './validators';

/** Loads feeds away from the thread that serves HTTP. */
serveThread(async ({ ticket, dataDir }: LoaderThreadData, report) => {
  const base = await joinBase(ticket);
  // A log in a file is rarely shared between processes: after a crash no load should wait for a lease to expire.
  const feedLock = ticket.settings.eventLog === 'sqlite:' ? undefined : feedLeases(base.engines.leases);
  const validators = validatorThreads(report);
  const loader = makeLoader(base.engines.log, base.follower, dataDir, {
    feedLock,
    validate: validators.validate,
  });
  return {
    calls: loader,
    close: async () => {
      await loader.close();
      await validators.close();
      await base.close();
    },
  };
});
