import { type Target } from '../../../bench/deliveries/due-messages';
import { execute, load } from '../../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { LeaseHolder } from '../../../src/runtime/lease-holder';
import { Rerenderer } from '../../../src/delivery/matching/rerender';
import { partitionOf, PARTITIONS } from '../../../src/domain/subscriptions/receiver-id';
import { Dispatcher, type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { OwnedPartition, takePartition } from '../../../src/delivery/scheduling/owned-partition';
import { Recipients } from '../../../src/delivery/scheduling/recipients';
import {
  type ActiveSubscription,
  Secrets,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../../src/domain/subscriptions/subscription';
import { cases } from '../../support/size';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';

describe('A receiver that is gone', () => {
  const world = runnerWorld();
  const { reports, start, targetsOf, due, outcomes, until, ending } = world;

  /** Every partition as its next owner continues. */
  async function receiversLeft(): Promise<readonly string[]> {
    const left: string[] = [];
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const { state } = (await takePartition(SYSTEM_CLOCK, world.deliveries, partition, { owner: 'test' }))!;
      left.push(...state.receivers.keys());
    }
    return left;
  }

  async function removeSubscriptions(targets: readonly Target[]): Promise<void> {
    const { log } = world.engines;
    for (const id of new Set(targets.map(({ subscriptionId }) => subscriptionId)))
      await execute(SYSTEM_CLOCK, log, subscriptionDecider, id, { do: 'delete', at: AT });
    await world.subscriptions.reached(await log.head());
  }

  /** A partition that is sent for, without a runner. */
  async function ownPartition(
    number: number,
    attempt: MakeAttempt,
  ): Promise<readonly [Dispatcher, OwnedPartition]> {
    const { deliveries, subscriptions, engines } = world;
    const { log, leases } = engines;
    const recipients = new Recipients(subscriptions, new Secrets(Buffer.alloc(32)));
    const report = (failure: unknown) => void reports.push(failure);
    const rerenderer = new Rerenderer(log, []);
    const dispatcher = new Dispatcher(
      { clock: SYSTEM_CLOCK, log, deliveries, recipients, rerenderer, attempt, report },
      100,
    );
    const lease = new LeaseHolder(SYSTEM_CLOCK, leases, `partition-${number}`, 'one', 600_000);
    await lease.acquire();
    const taken = (await takePartition(SYSTEM_CLOCK, deliveries, number, { owner: 'one' }))!;
    const partition = new OwnedPartition(number, { lease, term: lease.term }, deliveries, taken, (one) =>
      dispatcher.writerCallbacks(one),
    );
    dispatcher.add(partition);
    return [dispatcher, partition];
  }

  it('leaves nothing behind when its messages have ended, however many come and go (decisions N8)', async () => {
    const count = cases(10_000);
    const { attempts, attempt } = ending({});
    const runner = start('one', attempt);
    const [stays, ...gone] = await targetsOf(count + 1);
    await due([stays!, ...gone], 1);
    await until(() => attempts.length === count + 1);
    const others = gone.filter(({ subscriptionId }) => subscriptionId !== stays!.subscriptionId);
    await removeSubscriptions(others);
    // All partitions have something new to save.
    await due([stays!], 1);
    await until(() => attempts.length === count + 2);
    await runner.stop();
    expect((await outcomes()).length).toBe(count + 2);
    const kept = [stays!, ...gone].filter((one) => !others.includes(one)).map(({ receiver }) => receiver);
    expect(new Set(await receiversLeft())).toEqual(new Set(kept));
  });

  it('starts anew when it is made again: what was known of it is dropped with the next snapshot (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    const { subscriptionId, receiver } = target!;
    const { attempts, attempt } = ending({ status: 200 });
    const [dispatcher, partition] = await ownPartition(partitionOf(receiver), attempt);
    const { receivers } = partition.state;
    const send = async (): Promise<void> => {
      await due([target!], 1);
      // Each message is followed by a cursor.
      partition.state.due(receiver, 2 * attempts.length);
      dispatcher.taken(partition, receiver);
      dispatcher.pump();
      const sent = attempts.length + 1;
      await until(() => attempts.length === sent && partition.inFlight.size === 0);
    };
    const replaceBy = async (subscription: SubscriptionContent): Promise<void> => {
      const { log } = world.engines;
      await execute(SYSTEM_CLOCK, log, subscriptionDecider, subscriptionId, {
        do: 'replace',
        at: AT,
        subscriptionId,
        subscription,
      });
      await world.subscriptions.reached(await log.head());
    };
    const { state } = await load(world.engines.log, subscriptionDecider, subscriptionId);
    const { content } = state as ActiveSubscription;
    // Two, so that neither of them continues it.
    const others = ['https://other.example/', 'https://another.example/'].map((receiverUrl) => ({
      ...content.receivers[0]!,
      receiverUrl,
    }));

    await send();
    await partition.writer.save();
    const health = receivers.get(receiver)?.health;
    expect(health?.minutes).toMatchObject([{ attempts: 1 }]);
    await replaceBy({ ...content, receivers: others });
    expect(receivers.get(receiver)?.health).toBe(health);
    // There is something to save.
    partition.state.reach(1);
    await partition.writer.save();
    expect([...receivers.keys()]).toEqual([]);
    await replaceBy(content);
    await send();
    expect(receivers.get(receiver)?.health.minutes).toMatchObject([{ attempts: 1 }]);
    expect((await outcomes()).map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered']);
    dispatcher.remove(partition);
    dispatcher.stop();
  });

  it('is kept while something is left to send to it', async () => {
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({ end: 'failure', status: 500, retryAfter: 3_600_000 });
    const runner = start('one', attempt);
    await due([target!], 1);
    await until(() => attempts.length === 1);
    await until(async () => (await outcomes()).length === 1);
    await removeSubscriptions([target!]);
    await runner.stop();
    expect(await receiversLeft()).toEqual([target!.receiver]);
  });
});
