import { textOf } from '../clients';
import { createSubscription, deleteSubscription, replaceSubscription } from '../workloads/subscriptions';
import { require } from './broken';
import { type Check, streamsOf, timeOf } from './check';

const created: Check = {
  promise: 'A subscription that was acknowledged exists; there are no more than were asked for.',
  verify: (world) => {
    const streams = streamsOf(world, 'subscription');
    const ids = new Set<string>();
    for (const one of world.clients.done(createSubscription)) {
      const { subscriptionId: id } = one.result;
      require(!ids.has(id), () => `two posts were answered with the subscription ${id}`);
      ids.add(id);
      require(streams.has(id), () => `subscription ${id} was acknowledged, but is not there`);
    }
    const most = world.clients.of(createSubscription).reduce((sum, { times }) => sum + times, 0);
    require(streams.size <= most, () => `${streams.size} subscriptions of ${most} posts`);
  },
};

const changed: Check = {
  promise: 'A change of a subscription that was acknowledged has happened; a deleted one stays deleted.',
  verify: (world) => {
    const streams = streamsOf(world, 'subscription');
    for (const one of world.clients.done(deleteSubscription))
      require(streams.get(one.what.id)?.at(-1)?.type === 'SubscriptionDeleted', () =>
        `${textOf(one)} was acknowledged, but has not happened`);
    for (const one of world.clients.done(replaceSubscription)) {
      const isThere = streams
        .get(one.what.id)
        ?.some(
          (event) =>
            /Created|Replaced/.test(event.type) &&
            timeOf(world, event) <= one.answeredAt &&
            one.what.posted.receivers.every(({ receiverUrl }) =>
              event.data.includes(JSON.stringify(receiverUrl)),
            ),
        );
      require(isThere === true, () => `${textOf(one)} was acknowledged, but has not happened`);
    }
  },
};

export const SUBSCRIPTIONS = [created, changed] as const;
