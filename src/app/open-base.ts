import { FollowedDirectory } from '../network/follower';
import { type Engines, type EngineTicket, joinEngines } from '../engines/open';
import { type Clock, SYSTEM_CLOCK } from '../runtime/clock';

/** What a process and each of its threads work with. */
export interface BaseParts {
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  /** Closes the engines too. */
  close(): Promise<void>;
}

/** `report` receives failures after which it continues. */
export function baseOver(clock: Clock, engines: Engines, report?: (failure: string) => void): BaseParts {
  const ending = new AbortController();
  const follower = new FollowedDirectory(clock, engines.log, ending.signal, undefined, undefined, report);
  return {
    engines,
    follower,
    close: async () => {
      ending.abort();
      await follower.ended;
      await engines.close();
    },
  };
}

/** The same in a worker thread. */
export async function joinBase(ticket: EngineTicket): Promise<BaseParts> {
  return baseOver(SYSTEM_CLOCK, await joinEngines(ticket));
}
