import { createSubscription } from '../workloads/subscriptions';
import { require } from './broken';
import { type Check, happenedIn } from './check';

const created: Check = {
  promise: 'There are no more subscriptions than were asked for.',
  verify: (world) => {
    const there = [...happenedIn(world).keys()].filter((name) => name.startsWith('subscription-')).length;
    const most = world.clients.of(createSubscription).reduce((sum, { times }) => sum + times, 0);
    require(there <= most, () => `${there} subscriptions of ${most} posts`);
  },
};

export const SUBSCRIPTIONS = [created] as const;
