import { PROJECTIONS } from '../../projections/index';
import { waitForPosition } from '../../projections/wait';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines } from '../engines/open';
import { type Readiness } from './health.controller';
import { parkedCount } from './parked';

/**
 * Ready once the directory and the read models have seen everything that the log held at the start, as long as the
 * engines answer. Later loads do not make it unready: searches go on meanwhile.
 */
export async function readinessOf({ log, store }: Engines, follower: FollowedDirectory): Promise<Readiness> {
  const start = await log.head();
  let caughtUp = false;
  return async () => {
    const waiting: Record<string, string> = {};
    await log.head().catch(() => (waiting.log = 'does not answer'));
    if (follower.position < start) waiting.directory = 'is catching up with the log';
    try {
      caughtUp = await waitForPosition(store, PROJECTIONS, caughtUp ? '' : start, 0);
      if (!caughtUp) waiting.readModels = 'are catching up with the log';
      return { waiting, parked: await parkedCount(store) };
    } catch {
      waiting.readModels = 'do not answer';
    }
    return { waiting };
  };
}
