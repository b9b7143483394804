import { createSubscription } from '../workloads/subscriptions';
import { require } from './broken';
import { type Check, happenedIn } from './check';

const created: Check = {
  promise:
    'There are no more subscriptions than were asked for, with an `Idempotency-Key` one, however often it is sent (A22).',
  verify: (world) => {
    const there = [...happenedIn(world).keys()].filter((name) => name.startsWith('subscription-')).length;
    const posts = world.clients.of(createSubscription);
    const most = posts.reduce((sum, { key, times }) => sum + (key === undefined ? times : 1), 0);
    require(there <= most, () => `${there} subscriptions of ${most} posts`);
  },
};

export const SUBSCRIPTIONS = [created] as const;
